/* task_store.h - the job's key-value store, as a task sees it at YDL_SOCKET. Fibers only. */
#pragma once
#include "base/str.h"
#include "serve/deployment/line_client.h"

/* `value` is one line of text. */
int task_store_put(struct line_client *c, const char *key, const char *value, struct err *err);
/* Only if there is no such key: 1; 0: there is, and *ret is its value, the caller's. Of several
 * that do this at once, one gets 1. */
int task_store_put_new(struct line_client *c, const char *key, const char *value, char **ret,
                       struct err *err);
int task_store_delete(struct line_client *c, const char *key, struct err *err);
/* 1 and *ret, the caller's; 0: there is no such key. */
int task_store_get(struct line_client *c, const char *key, char **ret, struct err *err);
/* The same, after at most `ms`, as soon as there is one. */
int task_store_wait(struct line_client *c, const char *key, unsigned ms, char **ret,
                    struct err *err);
int task_store_list(struct line_client *c, const char *prefix, struct strs *ret, struct err *err);
/* A sentence for the job's events: one line of text. */
int task_store_note(struct line_client *c, const char *text, struct err *err);
/* The role has so many tasks from now on. */
int task_store_scale(struct line_client *c, const char *role, unsigned n, struct err *err);
/* Which tasks of these roles (parted by blanks) are to leave their containers: rendezvous/kv.h.
 * *ret is the caller's. */
int task_store_leaving(struct line_client *c, const char *roles, char **ret, struct err *err);
int task_store_move(struct line_client *c, const char *role, int64_t rank, int64_t attempt,
                    struct err *err);
