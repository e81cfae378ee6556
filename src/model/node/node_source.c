/* node_source.c - each attempt signs in anew, with the tokens of then; as long as something comes
 * now and then, attempts go on. See node_source.h. */
#include "model/node/node_source.h"
#include "base/log.h"
#include "hadoop/session/session.h"
#include "loop/fiber.h"
#include "model/layout.h"

#define STALL_MS 300000 /* without a byte */
#define PAUSE_MS 500    /* before the second attempt; doubled up to … */
#define PAUSE_MOST 10000

void node_source_init(struct node_source *s, struct loop *l, const struct node_cache_want *w)
{
    *s = (struct node_source){ .loop = l, .want = w, .moved = loop_now(l) };
}

static void source_close(struct node_source *s)
{
    if (s->open)
        models_done(&s->models);
    s->open = false;
    s->set = fs_set_free(s->set);
    s->session = session_free(s->session);
}

void node_source_done(struct node_source *s)
{
    source_close(s);
}

void node_source_begin(struct node_source *s)
{
    if (s->failures == 0)
        s->moved = loop_now(s->loop);
}

int node_source_open(struct node_source *s, struct err *err)
{
    int r;

    if (s->open)
        return 0;
    r = s->want->connect(s->want->user, &s->session, err);
    if (r == 0)
        r = fs_set_new(s->loop, s->session, &s->set, err);
    if (r == 0)
        r = models_open(s->loop, s->set, s->want->registry, &s->models, err);
    s->open = r == 0;
    return r;
}

void node_source_moved(struct node_source *s)
{
    s->moved = loop_now(s->loop);
    s->failures = 0;
}

/* What will be the same at every attempt. */
static bool is_final(int r)
{
    static const int codes[] = { -EACCES, -EPERM,   -ENOENT,    -ENOTDIR,        -EISDIR,
                                 -EINVAL, -ENOMEM,  -EBADMSG,   -E2BIG,          -EOPNOTSUPP,
                                 -ESTALE, -ENODATA, -ECANCELED, -EPROTONOSUPPORT };

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (r == codes[i])
            return true;
    return false;
}

/* By progress and not by number: a fetch of hours may be interrupted as often as it likes, as long
 * as bytes come in between. Each attempt opens a session of its own, because tokens may have been
 * replaced since. */
int node_source_retry(struct node_source *s, int r, struct err *err)
{
    int64_t pause = (int64_t)PAUSE_MS << (s->failures < 5 ? s->failures : 5);

    if (is_final(r) || loop_now(s->loop) - s->moved > STALL_MS)
        return r;
    trace(LOG_HDFS, "%s; trying again", err ? err->text : "");
    source_close(s);
    s->failures++;
    if (fiber_sleep(s->loop, pause < PAUSE_MOST ? pause : PAUSE_MOST) < 0)
        return err_set(err, -ECANCELED, "interrupted");
    err_clear(err);
    return 0;
}

static int source_read(struct node_source *s, struct buf *text, struct manifest *m, struct err *err)
{
    const struct node_cache_want *w = s->want;
    AUTO_FREE char *path = NULL;
    int r = node_source_open(s, err);

    buf_reset(text);
    if (r == 0)
        r = models_path(&s->models, w->model, &path, err, LAYOUT_VERSIONS "/%lld/" LAYOUT_MANIFEST,
                        (long long)w->version);
    if (r == 0)
        r = models_read_file(&s->models, path, text, err);
    return r < 0 ? r : manifest_parse(path, text->data, text->len, m, err);
}

int node_source_manifest(struct node_source *s, struct buf *text, struct manifest *m,
                         struct err *err)
{
    const struct node_cache_want *w = s->want;
    int r = source_read(s, text, m, err);

    while (r < 0 && (r = node_source_retry(s, r, err)) == 0)
        r = source_read(s, text, m, err);
    if (r == 0)
        node_source_moved(s);
    if (r == 0 && (!str_eq(m->name, w->model) || m->version != w->version ||
                   (w->hash && !str_eq(m->sha256, w->hash)))) {
        manifest_done(m);
        r = err_set(err, -ESTALE, "its manifest is not the one that was chosen");
    }
    return r < 0 ? err_wrap(err, r, "%s:%lld", w->model, (long long)w->version) : 0;
}
