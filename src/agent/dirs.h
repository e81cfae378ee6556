/* dirs.h - where an agent's directories are, and the job's files in them. */
#pragma once
#include "base/err.h"
#include "loop/fiber.h"
#include <sys/types.h>

struct agent;

struct agent_dirs {         /* absolute paths; all NULL before the first welcome */
    char *work;             /* ours, or what the job says */
    char *tasks;            /* files of tasks: prepare.c */
    char *tmp;              /* TMPDIR of tasks */
    char *out;              /* YDL_OUT of all tasks, by their labels */
    char *log;              /* what tasks write */
    char *sockets;          /* what YDL_SOCKET begins with: `tasks`, or a shorter name of it */
    char *token_file;       /* task_tokens.c; NULL: tasks need none */
    char *conf;             /* hadoop_access.c; NULL: tasks have a configuration of their own */
    int log_lock;           /* on `log`; 0: none */
    mode_t umask;           /* that we were started with */
    bool spreading, spread; /* the job's files are being put in place, or have been */
    struct cond spread_changed;
};

int dirs_set_up(struct agent *a, struct err *err); /* after a welcome; the first one decides */
/* Puts the job's files in place, once, however many callers there are. Fibers only: a thread does
 * the work. */
int dirs_place_files(struct agent *a, struct err *err);
void dirs_done(struct agent *a);
