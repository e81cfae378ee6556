/* test_am.h - what the parts of the test application master share; see test_am.c. */
#pragma once
#include "base/str.h"
#include "hadoop/yarn/am.h"
#include "hadoop/yarn/message.h"

#include <stdio.h>

#define TASKS 6
#define EXTRA TASKS /* the one after the blacklist */

struct task {
    Yarn__Container *container; /* a copy, once granted */
    bool started, done;
    int32_t code;
};

struct test {
    struct loop *loop;
    struct session *session;
    struct nm_pool *nodes;
    struct am *am;
    FILE *log;
    const char *dir;
    struct strs hosts;
    struct task tasks[TASKS + 1];
    int64_t deadline;
    bool registered;
    struct err err;
};

/* One line of the log. */
void say(struct test *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Asks for the container of a task. */
int ask_for(struct test *t, size_t i);
/* Starts what was granted and not started yet, all that are on one node with one call. */
int start_granted(struct test *t);
