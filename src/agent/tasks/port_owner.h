/* port_owner.h - which process has a TCP port, for the error about a port in use.
 *
 * Looks through /proc, so it takes milliseconds and sees only what we may see. Any thread. */
#pragma once
#include <stdbool.h>

#define PORT_OWNER_MAX 64

/* Does any process have a connected or listening socket on it? Connections that linger after their
 * owner's end do not count. */
bool port_in_use(unsigned number);
/* Are there only lingering connections on it, and at least one? */
bool port_lingers(unsigned number);

/* "process 4711 (python3)", or false. */
bool port_owner(unsigned number, char out[PORT_OWNER_MAX]);
