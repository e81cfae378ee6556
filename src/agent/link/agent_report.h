/* agent_report.h - messages to the master, gathered and sent once in a turn of the loop. Loop
 * thread; nothing here blocks. Without memory the agent ends: agent_break(). */
#pragma once
#include "agent.pb-c.h"
#include "agent/socket/kvline.h"
#include "base/err.h"
#include "job/event.h"

struct agent;
struct agent_task;

int report_init(struct agent *a, struct err *err);
void report_prepared(struct agent_task *t, enum fail_class fail, const char *text);
void report_started(struct agent_task *t);
void report_ready(struct agent_task *t);
void report_exited(struct agent_task *t, const Agent__ExitedTask *end); /* strings copied */
void report_exited_again(struct agent *a,
                         Agent__ExitedTask *m); /* takes `m` over; NULL: no memory */
void report_kv(struct agent_task *t, uint64_t id, const struct kvline_word *words, size_t n);
void report_note(struct agent *a, const char *text);        /* a warning, also in our own log */
int report_send(struct agent *a, const Agent__ToMaster *m); /* at once; < 0: it cannot be */
/* From a Hello, which says what was, to the Welcome nothing is sent and nothing is lost. */
void report_hold(struct agent *a);
void report_go_on(struct agent *a);
void report_flush(struct agent *a);
void report_free(struct agent *a);
