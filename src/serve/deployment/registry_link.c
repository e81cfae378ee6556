/* registry_link.c - see registry_link.h. First it is written that a version is used, then it is
 * looked whether the version is there; who removes one does it in the opposite order. One of both
 * notices. */
#include "serve/deployment/registry_link.h"
#include "hadoop/session/session.h"
#include "model/aliases.h"
#include "model/models.h"
#include "model/uses.h"
#include "serve/deployment/registry_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AGAIN_MS 3600000 /* it is written again, as a sign of life: USES_DAY_MS */
#define AWAY_MS 15000    /* for a cluster that did not answer */

struct registry_link {
    struct loop *loop;
    char *registry;           /* NULL: there is none */
    struct session *borrowed; /* the caller's */
    struct session *session;  /* our own, with the tokens of that file as it was then */
    struct timespec tokens;
    struct fs_set *set;
    struct models models;
    bool open, read_only;
    char *said;   /* the last that was written */
    int64_t at;   /* when */
    char *failed; /* what was said in vain: it is not said again until then … */
    int64_t failed_until;
    struct err failure; /* … for this reason */
    int64_t again;      /* a cluster that is away is left alone until then … */
    struct err why;     /* … for this reason */
};

int registry_link_new(struct loop *l, struct session *session, const char *registry,
                      struct registry_link **ret, struct err *err)
{
    struct registry_link *x = calloc(1, sizeof(*x));
    int r = x ? 0 : err_oom(err);

    if (r == 0) {
        x->loop = l;
        x->borrowed = session;
        x->registry = registry ? strdup(registry) : NULL;
        if (registry && !x->registry)
            r = err_oom(err);
    }
    if (r < 0) {
        registry_link_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

static void link_close(struct registry_link *x)
{
    if (x->open)
        models_done(&x->models);
    x->open = false;
    x->set = fs_set_free(x->set);
    x->session = session_free(x->session);
}

struct registry_link *registry_link_free(struct registry_link *x)
{
    if (!x)
        return NULL;
    link_close(x);
    free(x->registry);
    free(x->said);
    free(x->failed);
    free(x);
    return NULL;
}

/* ---- the registry ---- */

/* When the tokens of this task were replaced. */
static struct timespec time_of_tokens(void)
{
    const char *path = getenv("HADOOP_TOKEN_FILE_LOCATION");
    struct stat st;

    return path && stat(path, &st) == 0 ? st.st_mtim : (struct timespec){ 0 };
}

/* The agent writes new tokens into the same file before the old ones expire: a session that was
 * opened with those would fail from then on. */
static bool are_same_tokens(const struct registry_link *x)
{
    struct timespec now = time_of_tokens();

    return x->borrowed || (now.tv_sec == x->tokens.tv_sec && now.tv_nsec == x->tokens.tv_nsec);
}

static int link_open(struct registry_link *x, struct err *err)
{
    bool remote = models_is_remote(x->registry);
    int r = 0;

    if (x->open && (!remote || are_same_tokens(x)))
        return 0;
    link_close(x);
    x->tokens = time_of_tokens();
    if (remote && !x->borrowed)
        r = registry_session_new(x->loop, true, &x->session, err);
    if (r == 0)
        r = fs_set_new(x->loop, x->borrowed ? x->borrowed : x->session, &x->set, err);
    if (r == 0)
        r = models_open(x->loop, x->set, x->registry, &x->models, err);
    x->open = r == 0;
    return r;
}

/* What the registry itself said; else it was not reached. */
static bool is_answer(int r)
{
    return r >= 0 || r == -ENOENT || r == -EACCES || r == -EPERM || r == -EBADMSG ||
           r == -ECANCELED || r == -ENOMEM;
}

/* Before each use. While the cluster is away, whoever has other things to do is not kept waiting.
 */
static int link_begin(struct registry_link *x, struct err *err)
{
    if (loop_now(x->loop) >= x->again)
        return link_open(x, err);
    if (err)
        *err = x->why;
    return x->why.code;
}

/* After each use, with its result.
 *
 * Only the first failure of a time counts, so that `again` is not pushed on by those who were
 * turned away because of it. */
static int link_end(struct registry_link *x, int r, const struct err *err)
{
    if (is_answer(r) || !models_is_remote(x->registry) || loop_now(x->loop) < x->again)
        return r;
    link_close(x);
    x->why = err ? *err : (struct err){ .code = r };
    x->again = loop_in(x->loop, AWAY_MS);
    return r;
}

void registry_link_hurry(struct registry_link *x)
{
    x->again = x->failed_until = 0;
}

/* ---- versions in use ---- */

static int add_number(json_t *list, int64_t n)
{
    return n > 0 && json_array_append_new(list, json_integer((json_int_t)n)) < 0 ? -1 : 0;
}

/* Those that run, and the one whose turn comes next. */
static json_t *versions_in_use(const json_t *model)
{
    const json_t *versions = json_object_get(model, "versions"), *v;
    AUTO_JSON *list = json_array();
    size_t i;

    json_array_foreach(versions, i, v)
    {
        if (add_number(list, json_int_or(v, "version", 0)) < 0)
            return NULL;
    }
    v = json_object_get(json_object_get(model, "next"), "version");
    return add_number(list, json_int_or(v, "version", 0)) < 0 ? NULL : take(list);
}

static int say_model(struct registry_link *x, const json_t *plan, const json_t *model,
                     struct err *err)
{
    AUTO_JSON *versions = versions_in_use(model);
    const struct uses_record u = {
        .model = json_string_value(json_object_get(model, "name")),
        .id = json_string_value(json_object_get(plan, "use")),
        .name = json_string_value(json_object_get(plan, "name")),
        .job = getenv("YDL_JOB"),
        .versions = versions,
    };

    int r = versions ? uses_say(&x->models, &u, err) : err_oom(err);

    if (r != -EACCES && r != -EPERM && r != -EROFS)
        return r;
    if (err)
        err_clear(err);
    x->read_only = true;
    return 0;
}

bool registry_link_is_read_only(const struct registry_link *x)
{
    return x->read_only;
}

static int check_model(struct registry_link *x, const json_t *model, struct err *err)
{
    AUTO_JSON *versions = versions_in_use(model);
    const char *name = json_string_value(json_object_get(model, "name"));
    const json_t *v;
    size_t i;
    int r = versions ? 0 : err_oom(err);

    json_array_foreach(versions, i, v)
    {
        AUTO_MANIFEST m = { 0 };

        if (r == 0)
            r = models_manifest(&x->models, name, json_integer_value(v), &m, err);
        if (r == 0)
            r = err_set(err, -ENOENT, "%s:%lld is not in the registry any more", name,
                        (long long)json_integer_value(v));
        r = r < 0 ? r : 0;
    }
    return r;
}

/* All that is written, as one text: has it changed? */
static char *text_of_uses(const json_t *plan)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    AUTO_JSON *all = json_array();
    size_t i;

    json_array_foreach(models, i, m)
    {
        if (json_array_append_new(all, versions_in_use(m)) < 0)
            return NULL;
    }
    return json_dumps(all, JSON_COMPACT);
}

/* Where they have changed, they are looked for. */
static int say_all(struct registry_link *x, const json_t *plan, bool changed, struct err *err)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    size_t i;
    int r = link_begin(x, err);

    json_array_foreach(models, i, m)
    {
        if (r == 0)
            r = say_model(x, plan, m, err);
        if (r == 0 && changed)
            r = check_model(x, m, err);
    }
    return r;
}

/* A version that was removed stays away: its deployment looks four times a second. Takes `text`. */
static void link_failed(struct registry_link *x, char *text, const struct err *why)
{
    free(x->failed);
    x->failed = text;
    x->failed_until = loop_in(x->loop, AWAY_MS);
    x->failure = *why;
}

int registry_link_say(struct registry_link *x, const json_t *plan, struct err *err)
{
    AUTO_FREE char *text = NULL;
    struct err why = ERR_INIT;
    bool changed;
    int r = 0;

    if (!x->registry || !json_is_string(json_object_get(plan, "use")))
        return 0;
    text = text_of_uses(plan);
    if (!text)
        return err_oom(err);
    changed = !x->said || strcmp(x->said, text) != 0;
    if (!changed && loop_now(x->loop) - x->at < AGAIN_MS)
        return 0;
    if (x->failed && str_eq(x->failed, text) && loop_now(x->loop) < x->failed_until) {
        if (err)
            *err = x->failure;
        return x->failure.code;
    }
    r = link_end(x, say_all(x, plan, changed, &why), &why);
    if (r < 0) {
        why.code = r;
        link_failed(x, take(text), &why);
        if (err)
            *err = why;
        return r;
    }
    free(x->said);
    x->said = take(text);
    x->at = loop_now(x->loop);
    return 0;
}

int registry_link_forget(struct registry_link *x, const json_t *plan, struct err *err)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    const char *id = json_string_value(json_object_get(plan, "use"));
    size_t i;
    int r = x->registry && id ? link_begin(x, err) : 0;

    json_array_foreach(models, i, m)
    {
        if (r == 0 && x->open && id)
            r = uses_forget(&x->models, json_string_value(json_object_get(m, "name")), id, err);
    }
    return r;
}

/* ---- aliases ---- */

static int find_alias(struct registry_link *x, const char *name, const char *alias, int64_t known,
                      struct manifest *ret, struct err *err)
{
    int64_t version = 0;
    int r = link_begin(x, err);

    if (r == 0)
        r = alias_get(&x->models, name, alias, &version, err);
    return r < 0 || version == 0 || version == known
               ? r
               : models_manifest(&x->models, name, version, ret, err);
}

int registry_link_alias(struct registry_link *x, const json_t *model, int64_t known, json_t **ret,
                        struct err *err)
{
    const char *name = json_string_value(json_object_get(model, "name"));
    const char *alias = json_string_value(json_object_get(model, "follow"));
    AUTO_MANIFEST m = { 0 };
    AUTO_FREE char *path = NULL;
    int r = 0;

    if (x->registry && alias)
        r = link_end(x, find_alias(x, name, alias, known, &m, err), err);
    if (r < 0 || !m.doc)
        return r < 0 ? r : 0;
    r = models_path(&x->models, name, &path, err, "versions/%lld", (long long)m.version);
    if (r == 0)
        r = json_make(ret, err, "{s:I, s:s, s:s, s:s}", "version", (json_int_t)m.version, "path",
                      path, "format", m.format, "manifest", m.sha256);
    return r < 0 ? r : 1;
}
