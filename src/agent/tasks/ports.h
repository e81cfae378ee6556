/* ports.h - ports that nobody else gets: held from the moment they are promised.
 *
 * A held port is two sockets. One is bound to the port and does not listen: the kernel gives the
 * port to nobody, until it is shared with a program that sets SO_REUSEPORT or SO_REUSEADDR. The
 * other has an abstract Unix name made of the number: it stays when the first one is let go for a
 * program that sets neither, so that no other agent of this machine picks the port meanwhile.
 * Never blocks. Any thread, one at a time per value. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below the numbers that the kernel gives to outgoing connections (on a usual machine). */
#define PORTS_LOW 10000
#define PORTS_HIGH 32767

struct port {
    uint16_t number;
    int bound; /* -1 while it is let go */
    int lock;  /* the abstract name */
};

/* Where to look. `next` wanders through the range. */
struct ports {
    unsigned low, high, next;
};

/* Sets the range and a random start in it. Zeroes: the default range, limited to below the kernel's
 * own. -EINVAL for an invalid range. */
int ports_init(struct ports *p, unsigned low, unsigned high, struct err *err);

/* Holds any free port of the range; -EADDRINUSE when none is. */
int ports_any(struct ports *p, struct port *ret, struct err *err);
/* Holds this one. The error names the process that has it, if that is visible. */
int ports_one(unsigned number, struct port *ret, struct err *err);

/* Allows a program to bind to the port, from its start to its end. By SO_REUSEADDR, the only option
 * most programs set, any user's program can, until one listens. */
int ports_share(struct port *p, bool shared, struct err *err);

/* Lets the port go for a program that binds it alone; the name stays ours. */
void ports_let_go(struct port *p);
/* Holds it again, alone, after that program's end. Lingering connections are not a failure: the
 * name keeps other agents off. */
int ports_hold_again(struct port *p, struct err *err);
/* Gives it up altogether. */
void ports_drop(struct port *p);
