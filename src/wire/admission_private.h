/* admission_private.h - the insides of an admission; for wire/admission*.c. */
#pragma once
#include "loop/fiber.h"
#include "wire/admission.h"

#include <uv.h>

#define ADMISSION_BUCKETS 64 /* of addresses; those that share one share their luck */
#define ADMISSION_WHY 200

struct stranger_list {
    struct stranger *first, *last; /* the oldest first */
    size_t n;
};

/* A connection without a fiber. */
struct stranger {
    struct admission *of;
    struct stranger_list *list;
    struct stranger *prev, *next;
    int fd;
    unsigned bucket;
    size_t seen;   /* bytes that were looked at */
    int64_t until; /* then it goes */
    bool polled;
    uv_poll_t poll;
};

struct visitor {
    struct admission *of;
    struct visitor *prev, *next; /* while it has not passed */
    struct sock *sock;
    struct fiber *fiber; /* NULL before its first turn */
    int64_t since;
    bool passed, hurried;
};

struct admission {
    struct admission_options o;
    int fd; /* -1 once stopped */
    bool is_unix;
    bool paused; /* does not accept */
    uv_poll_t poll;
    uv_timer_t timer;
    int refs; /* the owner's and those of the two handles */
    struct stranger_list waiting, leaving, ready;
    unsigned from[ADMISSION_BUCKETS]; /* how many wait, by address */
    struct visitor *entering, *entering_last;
    size_t n_entering;
    struct group fibers;
    /* What the log has not been told yet (admission_note.c). */
    unsigned untold;
    int64_t told; /* when it was told last; 0: never */
    int64_t pause;
    char host[64], why[ADMISSION_WHY];
};

void admission_tick(struct admission *a); /* the timer runs, if it did not */
void admission_note(struct admission *a, int fd, const char *why);
bool admission_notes_told(struct admission *a); /* tells what is due; true: nothing is left */
void admission_on_listen(uv_poll_t *h, int status, int events);
void admission_drop(struct stranger *s); /* closes its connection and frees it */
