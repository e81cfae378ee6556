/* ids.h - the names YARN gives to applications, their attempts and their containers.
 *
 *     application_1794718682665_0075
 *     appattempt_1794718682665_0075_000001
 *     container_1794718682665_0075_01_000002
 *     container_e02_1794718682665_0075_01_000002     after the second restart of the RM
 *
 * Plain values: copy and compare them. Pure; any thread. Text is hostile until parsed. */
#pragma once
#include "base/err.h"
#include "hadoop/yarn.pb-c.h"
#include <stdbool.h>
#include <stdint.h>

struct yarn_app_id {
    int64_t timestamp; /* when the ResourceManager started that gave it */
    int32_t id;
};

struct yarn_attempt_id {
    struct yarn_app_id app;
    int32_t attempt; /* from 1 */
};

struct yarn_container_id {
    struct yarn_attempt_id attempt;
    int64_t id; /* epoch << 40 | sequence number, as it travels */
};

/* Enough for the longest of each, with the NUL. */
#define YARN_APP_ID_TEXT 48
#define YARN_ATTEMPT_ID_TEXT 64
#define YARN_CONTAINER_ID_TEXT 96

/* The whole text and nothing else, digits only, as many as there are; -EINVAL with a sentence that
 * shows the form. *ret is untouched on failure. */
int yarn_app_id_parse(const char *text, struct yarn_app_id *ret, struct err *err);
int yarn_container_id_parse(const char *text, struct yarn_container_id *ret, struct err *err);

/* The form Java prints. Returns `out`. */
const char *yarn_app_id_text(struct yarn_app_id id, char out[YARN_APP_ID_TEXT]);
const char *yarn_attempt_id_text(struct yarn_attempt_id id, char out[YARN_ATTEMPT_ID_TEXT]);
const char *yarn_container_id_text(struct yarn_container_id id, char out[YARN_CONTAINER_ID_TEXT]);

/* Negative, 0 or positive: by timestamp, application, attempt, container. */
int yarn_app_id_cmp(struct yarn_app_id a, struct yarn_app_id b);
int yarn_container_id_cmp(struct yarn_container_id a, struct yarn_container_id b);

/* From a message, which may be NULL or have parts missing: those are 0. */
struct yarn_app_id yarn_app_id_of(const Yarn__ApplicationId *m);
struct yarn_attempt_id yarn_attempt_id_of(const Yarn__ApplicationAttemptId *m);
struct yarn_container_id yarn_container_id_of(const Yarn__ContainerId *m);

/* An id as a message to be sent: the parts point to each other, so it must not move while in use.
 * Application ids, attempts and containers all fill the same storage; each returns its own part. */
struct yarn_id_message {
    Yarn__ApplicationId app;
    Yarn__ApplicationAttemptId attempt;
    Yarn__ContainerId container;
};
Yarn__ApplicationId *yarn_app_id_message(struct yarn_id_message *m, struct yarn_app_id id);
Yarn__ApplicationAttemptId *yarn_attempt_id_message(struct yarn_id_message *m,
                                                    struct yarn_attempt_id id);
Yarn__ContainerId *yarn_container_id_message(struct yarn_id_message *m,
                                             struct yarn_container_id id);
/* The same on the heap: rpc_free() or as a part of a message that is. NULL when out of memory. */
Yarn__ContainerId *yarn_container_id_new(struct yarn_container_id id);
Yarn__ApplicationId *yarn_app_id_new(struct yarn_app_id id);
