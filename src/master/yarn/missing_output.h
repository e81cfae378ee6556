/* missing_output.h - whose output is not known to be in HDFS; on YARN only, elsewhere it is where
 * tasks put it. See missing_output.c. Loop thread only. */
#pragma once
#include "master/yarn/master_yarn_private.h"

extern const struct owed_ops outputs_ops;

/* A task has started on an agent, so that it may have written something there. */
void outputs_started(struct master *m, const struct agent_conn *a, uint32_t task, uint32_t attempt);
/* The agent says that all of it is in HDFS. */
void outputs_saved(struct master *m, uint32_t agent);
/* That of these tasks ("worker-3") is. */
void outputs_saved_labels(struct master *m, uint32_t agent, char *const *labels, size_t n);
/* As in struct owed_ops. */
bool outputs_hear(struct agent_conn *a, const Agent__Saved *s);
/* It has left in order: so it is, but for what it said before that it could not save. */
void outputs_left(struct master *m, uint32_t agent);
/* It is not, or nobody will ever hear of it; the first reason stays. */
void outputs_unsaved(struct master *m, uint32_t agent, const char *why);
bool outputs_owed(const struct master *m, uint32_t agent);

/* A record of the agent says what it owes; a master after us reads it back. */
void outputs_put(struct master *m, uint32_t agent, struct event *e);
int outputs_restore(struct master *m, const json_t *record, const char *node); /* -ENOMEM */

/* Each agent that owes some, once, with its node. */
void outputs_each(const struct master *m, void (*fn)(void *arg, uint32_t agent, const char *node),
                  void *arg);

void outputs_tell(struct master *m);              /* the end: those that are left, by their names */
const char *outputs_told(const struct master *m); /* the first of those sentences, or "" */
void outputs_done(struct master *m);
