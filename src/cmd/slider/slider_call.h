/* slider_call.h - what all verbs run on: one call of the command, its failures and its output. Main
 * thread. */
#pragma once
#include "client/job_call.h"
#include "cmd/front/front.h"

/* Slider's own exit codes, where they differ from ydl's. */
enum slider_code {
    SLIDER_INTERRUPTED = 3,
    SLIDER_FORBIDDEN = 43,
    SLIDER_NOT_FOUND = 44,
    SLIDER_UNREACHABLE = 48,
    SLIDER_INTERNAL = 50,
    SLIDER_UNIMPLEMENTED = 51,
    SLIDER_EXCEPTION = 56,
    SLIDER_FAILED = 65,
    SLIDER_KILLED = 66,
    SLIDER_TIMED_OUT = 67,
    SLIDER_UNKNOWN = 69,
    SLIDER_BAD_STATE = 70,
    SLIDER_IN_USE = 73,
    SLIDER_EXISTS = 75,
    SLIDER_FALSE = 255,
};

struct slider;
/* A verb's work, on a fiber. An exit code of Slider's, or a negative errno with `err` set. */
typedef int slider_fn(struct slider *s, struct err *err);

struct slider {
    struct cli cli; /* first: a job_call's cli leads back here */
    const struct front_ask *ask;
    slider_fn *fn;
    const char *name; /* the application's; NULL when the verb was given none */
    bool local, json;
    enum slider_code code; /* of the failure that is on its way; 0: ydl's own */
    struct buf excerpt;
    struct strs notes;
    struct job_call *x; /* on the fiber */
    struct fs_set *set; /* where definitions are: slider_store_open() */
    struct fs *fs;
    char *base;
    bool scratch; /* only a plan is wanted: definitions are made in a directory of no consequence */
};

int slider_exit(int code); /* from ydl's codes */
/* CLI_USAGE for what cannot be an application's name; any other is safe as a file's. */
int slider_check_name(const char *name, struct err *err);

/* Sets the error with a code of Slider's; returns `result`. */
int slider_fail(struct slider *s, enum slider_code code, int result, struct err *err,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Says what is in s->notes, once. */
void slider_say_notes(struct slider *s);
/* A document on standard output, or into the file that --out names. */
int slider_put(struct slider *s, const json_t *doc, struct err *err);
int slider_put_text(struct slider *s, const char *text, struct err *err);
/* The value of an option, or NULL. */
static inline const char *slider_value(const struct slider *s, const char *option)
{
    return front_value(s->ask, option);
}
static inline bool slider_given(const struct slider *s, const char *option)
{
    return front_given(s->ask, option);
}
