/* own_peer.h - is a connection of this job's? See own_peer.c. Loop thread only. */
#pragma once
#include "agent.pb-c.h"
#include <stdbool.h>

struct agent_conn;

struct own_peers {
    struct own_question *questions; /* whose connections are, asked of agents */
    uint64_t last;                  /* of their numbers */
    int64_t ask_ms;                 /* how long they may take together; 0: as own_peer.c says */
};

/* own_peer and own_peer_asked of struct master_ops. Where tasks are on other machines: does the
 * connection come from one where the job has agents, and do these know it? */
bool own_peer(void *user, int fd);
bool own_peer_asked(void *user, int fd);
/* On one machine: the kernel says whose it is, and nobody needs to be asked. */
bool own_peer_here(void *user, int fd);
bool own_peer_known(void *user, int fd);
void own_peer_answer(struct agent_conn *a, const Agent__Owner *m);
void own_peer_hung_up(struct agent_conn *a);
