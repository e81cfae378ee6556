/* outcome.h - how a failure is reported: its exit code, a sentence, a hint. Pure. */
#pragma once
#include "job/engine/engine.h"

/* The start of the diagnostics with which we kill an application whose submission failed halfway:
 * "the submission failed (exit code 73): make 'x': no space". `ydl status` reads it from YARN. */
#define SUBMIT_FAILED "the submission failed (exit code "

/* One failure, kept: the strings are its own. */
struct failure {
    bool set;
    uint32_t task;
    enum fail_class cls;
    int code, signal;
    uint32_t generation, attempt;
    int64_t when, lived;
    char *text, *lines; /* lines: NULL when there are none */
};
#define FAILURE_TEXT_MAX (4 * KIB)
#define FAILURE_LINES_MAX (64 * KIB)

/* Copies the facts of `from`, whose strings are borrowed; a sentence is made where it has none, and
 * the code is the one that the command has for such a failure, not that of a task we killed. Long
 * texts keep their beginning, long output its end. `f` is empty or is emptied. */
int failure_set(struct failure *f, const struct failure *from, const char *task);
void failure_done(struct failure *f);

/* The exit code of a command whose job failed so; never 0. */
int failure_exit(enum fail_class cls, int code, int signal);
/* What to do about it, or NULL. Static. */
const char *failure_hint(enum fail_class cls, int code, int signal);
