/* output_files.h - the two files that a task writes to, here and among all that it wrote.
 *
 * In a container they may be removed while the task goes on, and another agent may follow us there:
 * so they are kept open, and what a successor must know is written down beside them. Loop thread;
 * blocks on the local disk. */
#pragma once
#include "base/err.h"
#include "base/rotate.h"
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct agent_task;

#define OUTPUT_NAME 32

struct stream_out { /* one of the two */
    char *path;
    struct rotate cut; /* … and what was cut off from its beginning */
    int64_t cut_after; /* logrotate.c: not to be tried before; loop's clock */
    int kept;          /* in a container: open for reading; -1: not */
    bool gone;         /* what was written before was removed, or its pieces are not known */
    /* output_follow.c's: */
    uint64_t sent;    /* bytes that the master has, or does not want */
    int wd;           /* inotify's number; -1: not watched */
    bool dirty, told; /* may have grown; its end was sent */
    uint64_t mark;    /* to be sent back with the file's length; 0: none */
};

struct task_output {
    struct stream_out streams[2]; /* output and error */
    uint64_t start[2];            /* how long they were when the task was started */
    uint64_t base[2];             /* what it had written elsewhere, before it came here */
    uint32_t began; /* the start, counted from 1, that the files begin with; 0: none yet */
    bool followed;  /* output_follow.c: somebody reads */
};

/* Names the files, and finds the pieces that an agent before us made of them. */
int output_init(struct agent_task *t, struct err *err);
void output_done(struct agent_task *t); /* also after output_init() failed */

void output_keep(struct stream_out *s); /* when its task is started, in a container */
/* A path by which the file can be opened even after it was removed; may point to `room`. */
const char *output_name(const struct stream_out *s, char room[OUTPUT_NAME]);

/* Where the files belong among all that the task wrote, for an agent that follows us: finds it as
 * an earlier one kept it, when the master does not know; and keeps it. Only in a container. */
void output_base_find(struct agent_task *t);
void output_base_keep(const struct agent_task *t);
/* The file beside output that tells the next agent `what` about `of`; the caller's. NULL: no
 * container, or out of memory. */
char *output_mark(const struct agent *a, const char *what, const char *of);
void output_marks_remove(const struct agent *a);
