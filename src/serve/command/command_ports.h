/* command_ports.h - on which ports a program listens, for people who wonder why it does not on the
 * one that it was given. Reads /proc. Any thread. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* The processes of the session that `leader` began, "8080 and 8081", into `out`; returns how many
 * there are. */
unsigned command_ports(pid_t leader, char *out, size_t cap);
