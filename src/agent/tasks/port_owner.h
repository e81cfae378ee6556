/* port_owner.h - which process has a TCP port, for a sentence about a port that is taken.
 *
 * Looks through /proc, so it takes milliseconds and sees only what we may see. Any thread. */
#pragma once
#include <stdbool.h>

#define PORT_OWNER_MAX 64

/* Does anybody have it as a connected or listening socket? Connections that the kernel keeps after
 * their owner's end do not count. */
bool port_in_use(unsigned number);
/* Is there nothing of it but such connections, and at least one of them? */
bool port_lingers(unsigned number);

/* "process 4711 (python3)", or false. */
bool port_owner(unsigned number, char out[PORT_OWNER_MAX]);
