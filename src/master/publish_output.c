/* publish_output.c - the job's output becomes a version of a model.
 *
 *     all tasks ended well ──► agents have saved, and left ──► is there a version of this job?
 *                                                                 │ no           │ yes
 *                                                                 ▼              ▼
 *                                                              publish ──────► alias ──► note
 *
 * The master does it and no agent: only here it is known that the job has succeeded and that all of
 * its output is in its place. A master that is killed before the note is in the log is followed by
 * one that looks into the registry first (models_output()), so that the job makes one version
 * however often it is tried.
 *
 * What fails is told like results that could not be saved, with their exit code. The output stays
 * where it is. */
#include "master/publish_output.h"
#include "base/log.h"
#include "base/path.h"
#include "master/master_private.h"
#include "model/aliases.h"
#include "model/publish.h"

#include <stdio.h>
#include <string.h>

#define TRIES 60       /* while a cluster does not take it */
#define ALIAS_TRIES 10 /* while others move it at the same time */
#define PAUSE_MS 1000
#define PAUSE_MOST 4000

/* ---- what was before ---- */

bool publish_wanted(const struct master *m)
{
    struct outcome o = { .state = JOB_FAILED };

    engine_outcome(m->engine, &o);
    return m->spec.publish.name && o.state == JOB_SUCCEEDED && !m->publish.told;
}

void publish_restore(struct master *m, const json_t *note)
{
    m->publish.told = m->publish.told || json_is_object(json_object_get(note, "published"));
}

/* ---- what is said ---- */

static void publish_tell(struct master *m, const struct manifest *v, const char *alias)
{
    const char *registry = m->spec.publish.registry;
    AUTO_FREE char *model = str_printf("%s:%lld", v->name, (long long)v->version);
    AUTO_FREE char *text = NULL;
    AUTO_JSON *facts = NULL;
    char size[STR_SIZE_MAX];
    struct event e;

    text = str_printf("published %s:%lld%s%s (%s, %s) in '%s'", v->name, (long long)v->version,
                      alias ? " as " : "", alias ? alias : "", v->format, str_size(v->bytes, size),
                      registry);
    (void)json_make(&facts, NULL, "{s:o, s:s, s:I, s:s, s:I, s:o, s:s}", "model", json_text(model),
                    "name", v->name, "version", (json_int_t)v->version, "format", v->format,
                    "bytes", (json_int_t)v->bytes, "alias", json_text(alias), "registry", registry);
    engine_event(m->engine, EVENT_NOTE, master_now(m), &e);
    event_str(&e, "level", "info");
    event_str(&e, "text", text ? text : "published");
    event_json(&e, "published", facts);
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
    m->publish.told = true;
}

static void publish_fail(struct master *m, const char *why)
{
    AUTO_FREE char *text =
        str_printf("its output was not published as '%s': %s", m->spec.publish.name, why);

    master_unsaved(m, text ? text : "its output was not published");
}

/* ---- one try ---- */

struct publishing {
    struct master *m;
    char *path; /* what becomes the version */
    struct models r;
    json_t *tags;
    struct manifest made; /* .doc: NULL before */
};

static void publishing_done(struct publishing *p)
{
    free(p->path);
    models_done(&p->r);
    json_decref(p->tags);
    manifest_done(&p->made);
}

/* The version of this job, which may be there already. */
static int publish_make(struct publishing *p, struct err *err)
{
    const struct spec_publish *s = &p->m->spec.publish;
    const char *job = p->m->opt->dir->id;
    const struct model_publish what = {
        .name = s->name,
        .path = p->path,
        .job = job,
        .commit = s->commit,
        .tags = p->tags,
        .output = true,
        .quiet = true,
    };
    AUTO_MODEL_PUBLISHED done = { 0 };
    int r = models_output(&p->r, s->name, job, p->m->facts.created, &p->made, err);

    if (r != 0)
        return r < 0 ? r : 0;
    r = model_publish(&p->r, &what, &done, err);
    if (r < 0)
        return r;
    p->made = done.manifest;
    done.manifest = (struct manifest){ 0 };
    return 0;
}

static int publish_alias(struct publishing *p, struct err *err)
{
    const struct spec_publish *s = &p->m->spec.publish;
    long long version = (long long)p->made.version;
    int64_t is = 0;
    int r = -EEXIST;

    if (!s->alias || (alias_get(&p->r, s->name, s->alias, &is, NULL) == 0 && is == version))
        return 0;
    for (int i = 0; r == -EEXIST && i < ALIAS_TRIES; i++) { /* of two jobs that end, one is later */
        err_clear(err);
        r = alias_set(&p->r, s->name, s->alias, version, NULL, err);
    }
    return r < 0 ? err_wrap(err, r, "%s:%lld is published, but alias '%s' was not set", s->name,
                            version, s->alias)
                 : 0;
}

static int publish_once(struct publishing *p, struct err *err)
{
    int r = p->made.doc ? 0 : publish_make(p, err);

    return r < 0 ? r : publish_alias(p, err);
}

/* May a cluster get over it? The registry may be there, or what is published. */
static bool publish_passes(const struct publishing *p, int r)
{
    static const int all[] = { EROFS,  EHOSTUNREACH, ECONNREFUSED, ECONNRESET, ETIMEDOUT,
                               EAGAIN, EBUSY,        EPIPE,        EIO,        ENOSPC };
    bool far = !fs_is_local(p->r.fs) || spec_is_remote(p->path);

    for (size_t i = 0; far && i < COUNT_OF(all); i++)
        if (r == -all[i])
            return true;
    return false;
}

static int publish_try(struct publishing *p, struct err *err)
{
    int64_t pause = PAUSE_MS;
    int r = publish_once(p, err);

    for (int i = 0; i < TRIES && r < 0 && publish_passes(p, r); i++) {
        if (i == 0)
            log_warn(LOG_MASTER, "%s; trying again", err->text);
        if (fiber_sleep(p->m->loop, pause) < 0)
            break;
        pause = 2 * pause < PAUSE_MOST ? 2 * pause : PAUSE_MOST;
        err_clear(err);
        r = publish_once(p, err);
    }
    return r;
}

/* ---- all of it ---- */

/* All of $YDL_OUT; or the first directory that the job names, when it does not name that. */
static int publish_place(struct publishing *p, struct err *err)
{
    const struct spec_files *f = &p->m->spec.output;
    const struct spec_file *from = f->n ? &f->v[0] : NULL;
    const char *below = p->m->spec.publish.path;
    AUTO_FREE char *place = NULL;
    int r;

    for (size_t i = f->n; i > 0; i--)
        if (!*f->v[i - 1].from)
            from = &f->v[i - 1];
    r = p->m->ops->result_place(p->m, from, &place, err);
    if (r < 0)
        return r;
    p->path = below ? path_join(place, below) : take(place);
    return p->path ? 0 : err_oom(err);
}

static int publish_tags(struct publishing *p, struct err *err)
{
    const struct spec_vars *l = &p->m->spec.publish.tags;

    p->tags = json_object();
    for (size_t i = 0; p->tags && i < l->n; i++)
        if (json_object_set_new(p->tags, l->v[i].name, json_text(l->v[i].value)) < 0)
            return err_oom(err);
    return p->tags ? 0 : err_oom(err);
}

static int publish_all(struct publishing *p, struct err *err)
{
    struct master *m = p->m;
    const char *registry = m->spec.publish.registry;
    struct fs_set *set = NULL;
    int r = m->ops->alone(m, err);

    if (r == 0 && !registry)
        r = err_set(err, -EINVAL, "the job does not say in which registry");
    if (r == 0)
        r = publish_place(p, err);
    if (r == 0)
        r = publish_tags(p, err);
    if (r == 0)
        r = m->ops->files_open(m, spec_is_remote(p->path) ? p->path : registry, &set, err);
    if (r == 0)
        r = models_open(m->loop, set, registry, &p->r, err);
    if (r == 0)
        r = publish_try(p, err);
    if (set)
        m->ops->files_close(m, set);
    return r;
}

static void publish_run(void *arg)
{
    struct master *m = arg;
    struct publishing p = { .m = m };
    struct err err = ERR_INIT;
    int r = publish_all(&p, &err);

    if (p.made.doc)
        publish_tell(m, &p.made, r == 0 ? m->spec.publish.alias : NULL);
    if (r < 0 && !fiber_cancelled(m->loop))
        publish_fail(m, err.text);
    publishing_done(&p);
    m->publish.fiber = NULL;
    cond_wake_all(&m->publish.ended);
    master_wake(m);
}

/* ---- when ---- */

static void publish_begin(struct master *m)
{
    struct err err = ERR_INIT;

    m->publish.begun = true;
    agents_tell_lost_results(m);
    if (m->save.unsaved)
        publish_fail(m, "not all of it could be saved");
    else if (fiber_start(m->loop, publish_run, m, &m->publish.fiber, &err) < 0)
        publish_fail(m, err.text);
}

bool publish_look(struct master *m)
{
    if (!m->publish.begun && publish_wanted(m))
        publish_begin(m);
    return !m->publish.fiber;
}

void publish_end(struct master *m)
{
    while (m->publish.fiber) {
        fiber_cancel(m->publish.fiber);
        (void)cond_wait(m->loop, &m->publish.ended, LOOP_NEVER);
    }
}

bool publish_late(struct master *m)
{
    if (!m->publish.fiber)
        return false;
    publish_end(m);
    if (!m->publish.told)
        publish_fail(m, m->interrupted ? "the job's master was ended" : "save-time expired");
    return true;
}
