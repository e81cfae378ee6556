/* registry.c - records that live as long as their maker are ephemeral nodes of ZooKeeper and go
 * with its session. So they are remembered here, and when a session is lost all of them are put
 * again in the new one. See registry.h. */
#include "hadoop/registry/registry.h"
#include "base/log.h"
#include "hadoop/registry/zk.h"
#include "loop/fiber.h"

#include <string.h>

#define RECORD_MAX MIB
#define DEPTH_MAX 16   /* of what is deleted with all below it */
#define CLOSE_MS 5000  /* to take our records away */
#define RENEW_MS 10000 /* to put them again, until the next try */
#define RENEW_PAUSE 1000

/* A record that lives as long as we do. */
struct kept {
    struct kept *next;
    char *path; /* in ZooKeeper */
    struct buf bytes;
};

struct registry {
    struct loop *loop;
    struct zk *zk;
    char *root; /* "" or "/a/b" */
    struct kept *kept;
    bool renew;    /* the session is a new one: all of `kept` is to be put again */
    bool renewing; /* the fiber for that lives */
    bool closing;
    struct cond changed;
};

/* ---- records that live as long as we do ---- */

static void kept_free(struct kept *k)
{
    buf_done(&k->bytes);
    free(k->path);
    free(k);
}

static struct kept **find_kept(struct registry *r, const char *path)
{
    struct kept **at = &r->kept;

    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static void registry_forget(struct registry *r, const char *path)
{
    struct kept **at = find_kept(r, path);
    struct kept *k = *at;

    if (k) {
        *at = k->next;
        kept_free(k);
    }
}

static int registry_remember(struct registry *r, const char *path, const struct buf *bytes,
                             struct err *err)
{
    struct kept *k = calloc(1, sizeof(*k));

    if (!k)
        return err_oom(err);
    buf_init(&k->bytes, RECORD_MAX);
    k->path = strdup(path);
    if (!k->path || buf_add(&k->bytes, bytes->data, bytes->len) < 0) {
        kept_free(k);
        return err_oom(err);
    }
    registry_forget(r, path);
    k->next = r->kept;
    r->kept = k;
    return 0;
}

/* ---- putting ---- */

/* ZooKeeper has no mkdir -p. A directory that somebody else made at the same time is as good. */
static int registry_make_parents(struct registry *r, const char *path, int64_t deadline,
                                 struct err *err)
{
    AUTO_FREE char *part = strdup(path);
    const struct buf nothing = { .max = 0 };
    int rc = 0;

    if (!part)
        return err_oom(err);
    for (char *slash = strchr(part + 1, '/'); slash && rc == 0; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        rc = zk_create(r->zk, part, &nothing, false, deadline, err);
        rc = err_forgive(err, rc, -EEXIST);
        *slash = '/';
    }
    return rc;
}

/* Parents are made only when they are missing, which is the case once for each user of a
 * cluster. */
static int registry_create(struct registry *r, const char *path, const struct buf *bytes,
                           bool alive, int64_t deadline, struct err *err)
{
    int rc = zk_create(r->zk, path, bytes, alive, deadline, err);

    if (rc != -ENOENT)
        return rc;
    err_clear(err);
    rc = registry_make_parents(r, path, deadline, err);
    return rc < 0 ? rc : zk_create(r->zk, path, bytes, alive, deadline, err);
}

/* One that lives as long as we do may be there from a session that is over: it would disappear with
 * that session, so it is created again. */
static int write_record(struct registry *r, const char *path, const struct buf *bytes, bool alive,
                        int64_t deadline, struct err *err)
{
    int rc = registry_create(r, path, bytes, alive, deadline, err);

    if (rc != -EEXIST)
        return rc;
    err_clear(err);
    if (!alive)
        return zk_set(r->zk, path, bytes, deadline, err);
    rc = err_forgive(err, zk_delete(r->zk, path, deadline, err), -ENOENT);
    return rc < 0 ? rc : registry_create(r, path, bytes, alive, deadline, err);
}

static int full_path(struct registry *r, const char *path, char **ret, struct err *err)
{
    int rc = registry_check_path(path, err);

    if (rc < 0)
        return rc;
    *ret = str_printf("%s%s", r->root, path);
    return *ret ? 0 : err_oom(err);
}

static int record_bytes(const struct registry_record *record, struct buf *ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    AUTO_FREE char *text = NULL;
    int rc = registry_record_make(record, &v, err);

    if (rc < 0)
        return rc;
    text = json_dumps(v, JSON_COMPACT);
    if (!text)
        return err_oom(err);
    rc = buf_add_str(ret, text);
    if (rc == -E2BIG)
        return err_set(err, rc, "a record of the registry can have 1 MB at most");
    return rc < 0 ? err_oom(err) : 0;
}

int registry_put(struct registry *r, const char *path, const struct registry_record *record,
                 bool while_alive, int64_t deadline, struct err *err)
{
    AUTO_FREE char *full = NULL;
    AUTO_BUF bytes = { .max = RECORD_MAX };
    int rc = full_path(r, path, &full, err);

    if (rc == 0)
        rc = record_bytes(record, &bytes, err);
    if (rc == 0)
        rc = write_record(r, full, &bytes, while_alive, deadline, err);
    if (rc < 0)
        return rc;
    if (while_alive)
        return registry_remember(r, full, &bytes, err);
    registry_forget(r, full);
    return 0;
}

int registry_claim(struct registry *r, const char *path, const struct registry_record *record,
                   int64_t deadline, struct err *err)
{
    AUTO_FREE char *full = NULL;
    AUTO_BUF bytes = { .max = RECORD_MAX };
    int rc = full_path(r, path, &full, err);

    if (rc == 0)
        rc = record_bytes(record, &bytes, err);
    return rc < 0 ? rc : registry_create(r, full, &bytes, false, deadline, err);
}

/* ---- getting and deleting ---- */

int registry_get(struct registry *r, const char *path, json_t **ret, int64_t deadline,
                 struct err *err)
{
    AUTO_FREE char *full = NULL;
    AUTO_FREE char *what = str_printf("'%s' of the registry", path);
    AUTO_BUF bytes = { .max = RECORD_MAX };
    int rc = what ? full_path(r, path, &full, err) : err_oom(err);

    if (rc == 0)
        rc = zk_get(r->zk, full, &bytes, deadline, err);
    return rc < 0 ? rc : registry_record_parse(what, bytes.data, bytes.len, ret, err);
}

int registry_list(struct registry *r, const char *path, struct strs *ret, int64_t deadline,
                  struct err *err)
{
    AUTO_FREE char *full = NULL;
    int rc = full_path(r, path, &full, err);

    if (rc == 0)
        rc = zk_children(r->zk, full, ret, deadline, err);
    if (rc == 0)
        strs_sort(ret);
    return rc;
}

static int registry_delete_tree(struct registry *r, const char *path, int depth, int64_t deadline,
                                struct err *err)
{
    AUTO_STRS below = { 0 };
    int rc = depth > DEPTH_MAX ? err_set(err, -ELOOP, "'%s' is too deep", path)
                               : zk_children(r->zk, path, &below, deadline, err);

    for (size_t i = 0; i < below.n && rc == 0; i++) {
        AUTO_FREE char *child = str_printf("%s/%s", path, below.v[i]);

        rc = child ? registry_delete_tree(r, child, depth + 1, deadline, err) : err_oom(err);
    }
    if (rc == 0) {
        registry_forget(r, path);
        rc = zk_delete(r->zk, path, deadline, err);
    }
    return err_forgive(err, rc, -ENOENT);
}

int registry_delete(struct registry *r, const char *path, bool recursive, int64_t deadline,
                    struct err *err)
{
    AUTO_FREE char *full = NULL;
    int rc = full_path(r, path, &full, err);

    if (rc < 0)
        return rc;
    if (recursive)
        return registry_delete_tree(r, full, 0, deadline, err);
    registry_forget(r, full);
    rc = zk_delete(r->zk, full, deadline, err);
    return err_forgive(err, rc, -ENOENT);
}

/* ---- a session that was replaced ---- */

/* Puts all of them again. The list may change while we wait, so their paths are copied first, and
 * each record is looked for again when its turn comes: one that was taken away meanwhile is left
 * out, and one that was added was put into the new session already. */
static int renew_all(struct registry *r)
{
    AUTO_STRS paths = { 0 };
    int rc = 0;

    for (const struct kept *k = r->kept; k && rc == 0; k = k->next)
        rc = strs_add(&paths, k->path);
    for (size_t i = 0; i < paths.n && rc == 0 && !r->closing; i++) {
        const struct kept *k = *find_kept(r, paths.v[i]);
        AUTO_BUF bytes = { .max = RECORD_MAX };
        struct err err = ERR_INIT;

        rc = k ? buf_add(&bytes, k->bytes.data, k->bytes.len) : 0;
        if (k && rc == 0)
            rc = write_record(r, paths.v[i], &bytes, true, loop_in(r->loop, RENEW_MS), &err);
        trace(LOG_YARN, "registry: '%s' put again: %s", paths.v[i], rc < 0 ? err.text : "done");
    }
    return rc;
}

/* `renew` is taken down before the work and not after it: a session that is lost while we put
 * records again sets it once more, and we begin anew. */
static void registry_renew(void *arg)
{
    struct registry *r = arg;

    while (r->renew && !r->closing) {
        r->renew = false;
        if (renew_all(r) < 0) {
            r->renew = true;
            (void)cond_wait(r->loop, &r->changed, loop_in(r->loop, RENEW_PAUSE));
        }
    }
    r->renewing = false;
    cond_wake_all(&r->changed);
}

static void on_new_session(void *arg)
{
    struct registry *r = arg;

    r->renew = true;
    if (!r->renewing && !r->closing && r->kept)
        r->renewing = fiber_start(r->loop, registry_renew, r, NULL, NULL) == 0;
}

/* ---- beginning and end ---- */

/* "h:1,h:2/a" is two servers and a path that is put before the root. */
static int read_quorum(const struct conf *c, struct strs *servers, char **ret_chroot,
                       struct err *err)
{
    const char *chroot = "";
    char *slash;
    int rc = conf_list(c, "hadoop.registry.zk.quorum", servers, err);

    if (rc < 0)
        return rc;
    if (servers->n == 0)
        return err_set(err, -EINVAL, "hadoop.registry.zk.quorum is empty");
    slash = strchr(servers->v[servers->n - 1], '/');
    if (slash && slash[1])
        chroot = slash;
    *ret_chroot = strdup(chroot);
    if (slash)
        *slash = '\0';
    return *ret_chroot ? 0 : err_oom(err);
}

static int read_root(const struct conf *c, char **ret, struct err *err)
{
    int rc = conf_str(c, "hadoop.registry.zk.root", ret, err);
    size_t n;

    if (rc < 0)
        return rc;
    n = strlen(*ret);
    while (n > 0 && (*ret)[n - 1] == '/')
        (*ret)[--n] = '\0';
    if (n > 0 && **ret != '/')
        return conf_bad(c, "hadoop.registry.zk.root", *ret, "which is not an absolute path", err);
    return 0;
}

static int connect_zk(struct registry *r, const struct conf *c, int64_t deadline, struct err *err)
{
    AUTO_STRS servers = { 0 };
    AUTO_FREE char *chroot = NULL;
    struct zk_options o = { .servers = &servers, .on_new_session = on_new_session, .arg = r };
    int64_t ms = 0;
    int rc = read_quorum(c, &servers, &chroot, err);

    if (rc == 0)
        rc = conf_ms(c, "hadoop.registry.zk.session.timeout.ms", &o.session_ms, err);
    if (rc == 0)
        rc = conf_ms(c, "hadoop.registry.zk.connection.timeout.ms", &ms, err);
    if (rc < 0)
        return rc;
    o.chroot = chroot;
    if (deadline > loop_in(r->loop, ms))
        deadline = loop_in(r->loop, ms);
    return zk_open(r->loop, &o, deadline, &r->zk, err);
}

int registry_open(struct loop *l, const struct conf *conf, int64_t deadline, struct registry **ret,
                  struct err *err)
{
    AUTO_REGISTRY *r = calloc(1, sizeof(*r));
    bool secure = false;
    int rc;

    if (!r)
        return err_oom(err);
    r->loop = l;
    rc = conf_bool(conf, "hadoop.registry.secure", &secure, err);
    if (rc == 0 && secure)
        return err_set(err, -EOPNOTSUPP,
                       "the registry wants Kerberos (hadoop.registry.secure), "
                       "which ydl cannot do with ZooKeeper");
    if (rc == 0)
        rc = read_root(conf, &r->root, err);
    if (rc == 0)
        rc = connect_zk(r, conf, deadline, err);
    if (rc == 0)
        *ret = take(r);
    return rc;
}

/* By name, although the end of the session would do: it is not sure to arrive. */
static void registry_take_away(struct registry *r)
{
    int64_t deadline = loop_in(r->loop, CLOSE_MS);

    while (r->kept) {
        struct kept *k = r->kept;

        r->kept = k->next;
        (void)zk_delete(r->zk, k->path, deadline, NULL);
        kept_free(k);
    }
}

struct registry *registry_close(struct registry *r)
{
    if (!r)
        return NULL;
    fiber_shield(r->loop, true);
    r->closing = true;
    cond_wake_all(&r->changed);
    while (r->renewing)
        (void)cond_wait(r->loop, &r->changed, LOOP_NEVER);
    if (r->zk)
        registry_take_away(r);
    r->zk = zk_close(r->zk);
    fiber_shield(r->loop, false);
    free(r->root);
    free(r);
    return NULL;
}
