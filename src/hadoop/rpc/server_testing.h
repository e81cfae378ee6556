/* server_testing.h - for tests: a server in a thread that speaks IPC version 9 by a script.
 *
 * One row per call it gets, over all its connections; the last row repeats. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_act {
    FAKE_ANSWER,    /* an empty response */
    FAKE_EXCEPTION, /* `text` is the class */
    FAKE_FATAL,     /* the same, and closes */
    FAKE_CLOSE,     /* reads the request and closes */
    FAKE_SILENT,    /* reads the request and says nothing */
    FAKE_HOLD,      /* keeps the answers of `count` calls and sends them in reverse order */
    FAKE_NONSENSE,  /* a frame that is no answer */
    FAKE_SLOW,      /* answers after the second ping */
};

struct fake_row {
    enum fake_act act;
    const char *text;
    size_t count;
};

struct fake_server {
    const struct fake_row *script;
    size_t rows;
    const char *greeting;    /* sent raw instead of everything else, then closed; or NULL */
    bool mute;               /* accepts and says nothing at all */
    void (*in_thread)(void); /* called first thing in its thread; or NULL */
    int port;
    /* what was seen */
    size_t connections, calls, pings;
    int32_t call_ids[256], retries[256];
    char user[64], real_user[64];
    /* its own */
    int listener, stop[2];
    pthread_t thread;
};

void fake_server_start(struct fake_server *f);
void fake_server_stop(struct fake_server *f); /* joins; then the fields may be read */
