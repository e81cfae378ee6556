/* tell.c - what the master tells of a job: its own records, the engine's on their way into the
 * journal, and the last one. */
#include "base/log.h"
#include "master/master_private.h"

#include <stdio.h>
#include <string.h>

/* ---- our own records ---- */

void master_note(struct master *m, const char *text)
{
    struct err err = ERR_INIT;

    if (engine_note(m->engine, "warning", text, master_now(m), &err) < 0)
        log_error(LOG_MASTER, "%s", err.text);
    master_wake(m);
}

void master_unsaved(struct master *m, const char *text)
{
    struct event e;

    if (!m->save.unsaved)
        m->save.unsaved = strdup(text);
    engine_event(m->engine, EVENT_NOTE, master_now(m), &e);
    event_str(&e, "level", "error");
    event_str(&e, "text", text);
    event_bool(&e, "unsaved", 1);
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log: %s", text);
    master_wake(m);
}

void master_phase(struct master *m, const char *name, const char *who)
{
    master_phase_at(m, name, who, master_now(m));
}

void master_phase_at(struct master *m, const char *name, const char *who, int64_t when)
{
    struct event e;

    engine_event(m->engine, EVENT_PHASE, when, &e);
    event_str(&e, "name", name);
    event_str(&e, "who", who);
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
}

void master_fault(struct master *m, const struct err *err)
{
    log_error(LOG_MASTER, "%s", err->text);
    master_note(m, err->text);
}

struct engine_facts master_facts(const struct master *m)
{
    return (struct engine_facts){
        .job = m->opt->dir ? m->opt->dir->id : NULL,
        .name = m->facts.name,
        .user = m->facts.user,
        .platform = m->platform ? m->platform->ops->name : NULL,
        .framework = m->framework ? m->framework->name : NULL,
    };
}

int master_created(struct master *m, struct err *err)
{
    const struct engine_facts f = master_facts(m);

    return engine_created(m->engine, &f, master_now(m), err);
}

/* ---- all of them ---- */

/* Readers are woken only for what they can see. Even when there is nothing new, a journal that
 * could not be written is tried again and the copy gets its look: this is the moment at which log
 * and engine agree, which is when a summary may be taken. */
void tell_events(struct master *m)
{
    AUTO_BUF lines = { .max = 256 * MIB };

    uint64_t shown = live_end(&m->live);

    if (engine_events(m->engine, &lines) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
    live_take(m);
    if (lines.len > 0)
        (void)journal_append(&m->journal, lines.data, lines.len);
    else
        (void)journal_retry(&m->journal);
    m->ops->copy->look(m);
    agents_ack_told(m);
    if (lines.len > 0 || live_end(&m->live) != shown)
        hub_wake(m);
    api_told(m);
}

/* The engine is past help: everybody's agent ends with us. Nothing here needs memory. */
static void write_fault(struct master *m, const struct err *fault)
{
    char line[256];
    int n = snprintf(line, sizeof(line),
                     "{\"t\":%lld,\"event\":\"end\",\"state\":\"FAILED\",\"exit\":%d,"
                     "\"text\":\"%s\"}\n",
                     (long long)master_now(m), MASTER_FAULT_EXIT,
                     fault->code == -ENOMEM ? "the master ran out of memory"
                                            : "a fault in the master, which its log names");

    log_error(LOG_MASTER, "the job cannot go on: %s", fault->text);
    (void)journal_append(&m->journal, line, (size_t)n);
    hub_wake(m);
}

/* Records that there was no room for, neither on the disk nor in memory. */
static void tell_lost(struct master *m)
{
    AUTO_FREE char *text = NULL;

    if (m->journal.lost == 0)
        return;
    text = str_printf("the disk was full: %llu pieces of this log are missing",
                      (unsigned long long)m->journal.lost);
    if (text)
        master_note(m, text);
}

/* The last record, behind everything else that is told of the job.
 * The note about lost records and `unsaved` come before engine_close(), whose record must be the
 * last line of the log: readers stop there. */
void tell_end(struct master *m)
{
    struct err fault = ERR_INIT;

    journal_last(&m->journal);
    if (m->save.unsaved)
        engine_set_unsaved(m->engine);
    tell_lost(m);
    if (engine_fault(m->engine, &fault) == 0)
        engine_close(m->engine, master_now(m));
    tell_events(m);
    if (fault.code)
        write_fault(m, &fault);
}
