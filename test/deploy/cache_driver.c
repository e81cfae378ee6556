/* cache_driver.c - sends what a job needs to a real cluster, for the tests of this directory.
 *
 *     ydl-test-cache put BASE JOB.yaml          from the current directory
 *     ydl-test-cache use BASE JOB.yaml APP      the same, and says that APP needs it
 *     ydl-test-cache look BASE JOB.yaml OUT     the same, and has YARN bring it to a node, where
 *                                               what arrived is listed in the local file OUT
 *
 * Prints one JSON object: files, ms, rss_kb and bytes read of the put; or error. */
#include "base/log.h"
#include "base/path.h"
#include "hadoop/session/kerberos.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/launch_context.h"
#include "hadoop/yarn/rm_client.h"
#include "hadoop/yarn/submission.h"
#include "loop/fiber.h"
#include "uploads/cache.h"

#include <stdio.h>
#include <string.h>

struct test {
    struct loop *loop;
    struct session *session;
    struct fs_set *set;
    char **argv;
    json_t *out;
    struct cache_files files;
    struct err err;
};

/* ---- what is sent ---- */

static int find(struct test *t, struct uploads_list *l)
{
    AUTO_FREE char *cwd = realpath(".", NULL);
    struct uploads_options o = { .cwd = cwd };
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF text = { .max = MIB };
    int r = path_read(t->argv[2], &text, &t->err);

    if (r < 0)
        return r;
    spec_init(&s);
    r = spec_parse(t->argv[2], text.data, text.len, &s, &f);
    if (r == 0)
        r = uploads_find(&s, &o, l, &f);
    return r < 0 ? err_set(&t->err, r, "%s", f.lines.n ? f.lines.v[0] : "out of memory") : 0;
}

/* A number that the kernel has of this process; -1 where it has not. */
static int64_t own_number(const char *path, const char *name)
{
    AUTO_BUF text = { .max = 64 * KIB };
    const char *at;

    if (path_read(path, &text, NULL) < 0 || !buf_text(&text))
        return -1;
    at = strstr((const char *)text.data, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

static int show(struct test *t, int64_t ms)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; i < t->files.n; i++) {
        const struct cache_file *f = &t->files.v[i];
        json_t *v = NULL;
        int r =
            json_make(&v, &t->err, "{s:s, s:s, s:o, s:I, s:I, s:b, s:b}", "to", f->to, "url",
                      f->url, "key", json_text(f->key), "size", (json_int_t)f->size, "timestamp",
                      (json_int_t)f->timestamp, "archive", f->archive, "sent", f->sent);

        if (r < 0 || json_array_append_new(list, v) < 0)
            return r < 0 ? r : err_oom(&t->err);
    }
    json_object_set_new(t->out, "files", take(list));
    json_object_set_new(t->out, "ms", json_integer(ms));
    /* Not from getrusage(), which also counts what the process was before its exec. */
    json_object_set_new(t->out, "rss_kb", json_integer(own_number("/proc/self/status", "VmHWM:")));
    json_object_set_new(t->out, "read", json_integer(own_number("/proc/self/io", "rchar:")));
    return 0;
}

static int put_with(struct test *t, struct cache *c)
{
    AUTO_UPLOADS l = { 0 };
    int64_t began = loop_now(t->loop);
    int r = find(t, &l);

    if (r == 0)
        r = cache_put(c, &l, true, &t->files, &t->err);
    return r < 0 ? r : show(t, loop_now(t->loop) - began);
}

static int put(struct test *t)
{
    AUTO_CACHE *c = NULL;
    int r = cache_open(t->loop, t->set, t->argv[1], &c, &t->err);

    return r < 0 ? r : put_with(t, c);
}

static int use(struct test *t)
{
    AUTO_FREE char *dir = str_printf("%s/jobs/%s", t->argv[1], t->argv[3]);
    AUTO_FREE char *path = NULL;
    AUTO_CACHE *c = NULL;
    struct fs *fs;
    int r = cache_open(t->loop, t->set, t->argv[1], &c, &t->err);

    if (r == 0)
        r = fs_find(t->set, dir, FS_ON_CLUSTER, &fs, &path, &t->err);
    if (r == 0)
        r = fs_mkdirs(fs, path, 0700, true, &t->err);
    if (r == 0)
        r = put_with(t, c);
    return r < 0 ? r : cache_use(c, t->argv[3], &t->files, &t->err);
}

/* ---- what arrives ---- */

static int launch_of(struct test *t, Yarn__ContainerLaunchContext **ret)
{
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();
    int r = c ? 0 : err_oom(&t->err);

    for (size_t i = 0; r == 0 && i < t->files.n; i++) {
        const struct cache_file *f = &t->files.v[i];
        struct yarn_file file = { f->url, (int64_t)f->size, f->timestamp, f->archive,
                                  YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_PRIVATE };

        r = yarn_launch_file(c, f->to, &file, &t->err);
    }
    if (r == 0)
        r = yarn_launch_env(c, "OUT", t->argv[3], &t->err);
    if (r == 0)
        r = yarn_launch_script(c,
                               "find -L . -path './*' ! -name '.*' -printf '%P\\t%y\\t%m\\t%s\\n' "
                               "> \"$OUT.tmp\" 2>/dev/null; mv \"$OUT.tmp\" \"$OUT\"",
                               &t->err);
    if (r == 0)
        *ret = take(c);
    return r;
}

/* Its master says nothing to the ResourceManager, so it fails; what counts is what it saw. */
static int look(struct test *t)
{
    AUTO_YARN_CLIENT *client = NULL;
    AUTO_RPC Yarn__GetNewApplicationResponse *fresh = NULL;
    AUTO_MESSAGE Yarn__ContainerLaunchContext *launch = NULL;
    AUTO_MESSAGE Yarn__ApplicationSubmissionContext *context = NULL;
    struct yarn_submission s = { .name = "ydl-test-cache",
                                 .type = "ydl-test",
                                 .max_attempts = 1,
                                 .master = { .memory_mb = 64, .vcores = 1 } };
    int r = put(t);

    if (r == 0)
        r = yarn_client_new(t->session, &client, &t->err);
    if (r == 0)
        r = yarn_new_application(client, &fresh, &t->err);
    if (r == 0)
        r = launch_of(t, &launch);
    s.launch = launch;
    if (r == 0)
        r = yarn_submission_message(&s, yarn_app_id_of(fresh->application_id),
                                    fresh->maximum_capability, &context, &t->err);
    return r < 0 ? r : yarn_submit(client, context, 0, NULL, &t->err);
}

/* ---- all of it ---- */

static const struct {
    const char *name;
    int args;
    int (*run)(struct test *t);
} verbs[] = { { "put", 2, put }, { "use", 3, use }, { "look", 3, look } };

static int run(void *arg)
{
    struct test *t = arg;
    struct session_options options = { .caller = "ydl-test-cache", .kerberos = &kerberos_by_gss };
    int r = session_new(t->loop, &options, &t->session, &t->err);

    if (r == 0)
        r = session_find_user(t->session, &t->err);
    if (r == 0)
        r = fs_set_new(t->loop, t->session, &t->set, &t->err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(verbs); i++)
        if (str_eq(verbs[i].name, t->argv[0]))
            r = t->argv[verbs[i].args] ? verbs[i].run(t) : -EINVAL;
    cache_files_done(&t->files);
    t->set = fs_set_free(t->set);
    t->session = session_free(t->session);
    return r;
}

int main(int argc, char **argv)
{
    struct test t = { .argv = argv + 1, .out = json_object() };
    int r;

    log_init("ydl-test-cache");
    if (argc < 2 || loop_new(&t.loop, &t.err) < 0)
        return 2;
    r = loop_run(t.loop, run, &t, true);
    loop_free(t.loop);
    if (r < 0)
        json_object_set_new(t.out, "error", json_text(t.err.text));
    json_print(stdout, t.out, NULL);
    json_decref(t.out);
    return r < 0;
}
