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

/* Sets the range and a random place in it to begin. Zeroes: the default range, cut off below the
 * kernel's own. -EINVAL for a range that is none. */
int ports_init(struct ports *p, unsigned low, unsigned high, struct err *err);

/* Holds any free port of the range; -EADDRINUSE when none is. */
int ports_any(struct ports *p, struct port *ret, struct err *err);
/* Holds this one. The error names the process that has it, where that can be seen. */
int ports_one(unsigned number, struct port *ret, struct err *err);

/* Whether a program can bind beside us: from the moment on when it is started, until it has ended.
 * By SO_REUSEADDR, all that most of them know, any user's can until one of them listens. */
int ports_share(struct port *p, bool shared, struct err *err);

/* Lets the port go for a program that binds it alone; the name stays ours. */
void ports_let_go(struct port *p);
/* Holds it again, alone, after that program's end. While nothing but lingering connections is in
 * the way that is no failure: the name keeps other agents off. */
int ports_hold_again(struct port *p, struct err *err);
/* Gives it up altogether. */
void ports_drop(struct port *p);
