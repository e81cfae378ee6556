/* deploy_driver.c - what src/deploy finds out before a submit, from the command line, for the tests
 * of this directory. Prints one JSON document.
 *
 *     ydl-test-deploy facts [QUEUE]
 *     ydl-test-deploy room FILE               the faults of a job file, and what is missing now
 *     ydl-test-deploy tokens FILE [PLACE…]    saves tokens for the places in FILE
 *     ydl-test-deploy stat URI                who owns it: a way to try tokens
 *     ydl-test-deploy look URI | probe URI    may results go there?
 *     ydl-test-deploy export                  the configuration */
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"
#include "hadoop/session/kerberos.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/rm_client.h"
#include "launch/capacity/capacity.h"
#include "launch/capacity/cluster_facts.h"
#include "launch/conf_export.h"
#include "launch/submit_tokens.h"
#include "launch/targets/output_target.h"

#include <stdio.h>
#include <string.h>

struct test {
    struct loop *loop;
    struct session *session;
    char **argv; /* from the verb on; NULL at the end */
    json_t *out;
    struct err err;
};

static json_t *texts(const struct strs *l)
{
    json_t *list = json_array();

    for (size_t i = 0; i < l->n; i++)
        json_array_append_new(list, json_text(l->v[i]));
    return list;
}

/* ---- facts ---- */

static json_t *size_json(const struct deploy_facts *f, const struct deploy_size *s)
{
    json_t *map = json_object();

    for (size_t t = 0; t < f->types.n; t++)
        json_object_set_new(map, f->types.v[t], json_integer(s->v[t]));
    return map;
}

static json_t *nodes_json(const struct deploy_facts *f)
{
    json_t *list = json_array();

    for (size_t i = 0; i < f->n_nodes; i++) {
        const struct deploy_node *n = &f->nodes[i];

        json_array_append_new(
            list, json_pack("{s:s, s:i, s:s, s:s, s:b, s:o, s:o}", "host", n->host, "port", n->port,
                            "rack", n->rack, "label", n->label, "running", n->running, "total",
                            size_json(f, &n->total), "used", size_json(f, &n->used)));
    }
    return list;
}

static json_t *queue_json(const struct deploy_facts *f)
{
    const struct deploy_queue *q = &f->queue;
    json_t *shares = json_object();

    for (size_t i = 0; i < q->n_shares; i++)
        json_object_set_new(shares, q->shares[i].label,
                            q->shares[i].limited ? size_json(f, &q->shares[i].most) : json_null());
    return json_pack("{s:s, s:b, s:b, s:b, s:b, s:i, s:o, s:o, s:o, s:o}", "name", q->name, "found",
                     q->found, "leaf", q->leaf, "running", q->running, "may_come", q->may_come,
                     "may_submit", q->may_submit, "used", size_json(f, &q->used), "shares", shares,
                     "labels", texts(&q->labels), "others", texts(&q->others));
}

static int get_facts(struct test *t, const char *queue, struct deploy_facts *f)
{
    AUTO_YARN_CLIENT *c = NULL;
    int r = yarn_client_new(t->session, &c, &t->err);

    return r < 0 ? r : deploy_facts_get(c, t->session, queue, f, &t->err);
}

static int show_facts(struct test *t)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    json_t *labels = json_object();
    int r = get_facts(t, t->argv[1], &f);

    for (size_t i = 0; r == 0 && i < f.n_labels; i++)
        json_object_set_new(labels, f.labels[i].name, json_boolean(f.labels[i].exclusive));
    json_object_set_new(t->out, "labels", labels);
    if (r < 0)
        return r;
    json_object_set_new(t->out, "user", json_string(f.user));
    json_object_set_new(t->out, "types", texts(&f.types));
    json_object_set_new(t->out, "nodes", nodes_json(&f));
    json_object_set_new(t->out, "largest", size_json(&f, &f.largest));
    json_object_set_new(t->out, "least", size_json(&f, &f.least));
    json_object_set_new(t->out, "counts_cores", json_boolean(f.counts_cores));
    json_object_set_new(t->out, "queue", queue_json(&f));
    return 0;
}

static int show_room(struct test *t)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    AUTO_SPEC_FAULTS faults = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF text = { .max = SPEC_FILE_MAX };
    struct capacity room = { 0 };
    int r = path_read(t->argv[1], &text, &t->err);

    spec_init(&s);
    if (r == 0)
        r = spec_parse("job", text.data, text.len, &s, &faults);
    if (r == 0)
        r = get_facts(t, s.queue, &f);
    if (r == 0)
        r = capacity_check(&s, &f, NULL, &faults, &room);
    json_object_set_new(t->out, "faults", texts(&faults.lines));
    json_object_set_new(t->out, "room",
                        json_pack("{s:I, s:I, s:b, s:b, s:s}", "needed", (json_int_t)room.needed,
                                  "now", (json_int_t)room.now, "fits_now", room.fits_now, "unsure",
                                  room.unsure, "text", room.text));
    return r == -EINVAL && faults.n ? 0 : r;
}

/* ---- tokens ---- */

static int save_tokens(struct test *t)
{
    AUTO_CREDENTIALS *c = NULL;
    AUTO_STRS places = { 0 };
    json_t *list = json_array();
    int r = credentials_new(&c, &t->err);

    for (size_t i = 2; r == 0 && t->argv[i]; i++)
        r = strs_add(&places, t->argv[i]);
    if (r == 0)
        r = deploy_tokens(t->session, &places, c, &t->err);
    for (size_t i = 0; r == 0 && i < credentials_count(c); i++) {
        const struct token *k = credentials_at(c, i, NULL);

        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "kind", k->kind, "service", k->service));
    }
    json_object_set_new(t->out, "tokens", list);
    return r < 0 ? r : credentials_save(c, t->argv[1], &t->err);
}

static int stat_uri(struct test *t)
{
    AUTO_FS_SET *set = NULL;
    AUTO_FREE char *path = NULL;
    struct fs_entry e = { 0 };
    struct fs *fs = NULL;
    int r = fs_set_new(t->loop, t->session, &set, &t->err);

    if (r == 0)
        r = fs_find(set, t->argv[1], FS_ON_CLUSTER, &fs, &path, &t->err);
    if (r == 0)
        r = fs_stat(fs, path, &e, &t->err);
    if (r == 0)
        json_object_set_new(t->out, "owner", json_string(e.owner));
    fs_entry_done(&e);
    return r;
}

static int look_at_target(struct test *t)
{
    AUTO_FS_SET *set = NULL;
    int r = fs_set_new(t->loop, t->session, &set, &t->err);

    return r < 0 ? r
                 : deploy_check_target(t->session, set, t->argv[1],
                                       str_eq(t->argv[0], "probe") ? DEPLOY_PROBE : DEPLOY_LOOK,
                                       &t->err);
}

static int show_conf(struct test *t)
{
    AUTO_BUF b = { .max = CONF_EXPORT_MAX };
    int r = conf_export(session_conf(t->session), &b, &t->err);

    if (r == 0)
        json_object_set_new(t->out, "xml", json_text(buf_text(&b)));
    return r;
}

/* ---- all of it ---- */

static const struct {
    const char *name;
    int least; /* arguments */
    int (*run)(struct test *t);
} verbs[] = {
    { "facts", 0, show_facts }, { "room", 1, show_room },      { "tokens", 1, save_tokens },
    { "stat", 1, stat_uri },    { "look", 1, look_at_target }, { "probe", 1, look_at_target },
    { "export", 0, show_conf },
};

static int run(void *arg)
{
    struct test *t = arg;
    struct session_options options = { .caller = "ydl-test-deploy", .kerberos = &kerberos_by_gss };
    int r = session_new(t->loop, &options, &t->session, &t->err);

    if (r == 0 && !str_eq(t->argv[0], "stat")) /* which is for who has no ticket */
        r = session_find_user(t->session, &t->err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(verbs); i++)
        if (str_eq(verbs[i].name, t->argv[0]))
            r = verbs[i].least && !t->argv[verbs[i].least] ? -EINVAL : verbs[i].run(t);
    t->session = session_free(t->session);
    return r;
}

int main(int argc, char **argv)
{
    struct test t = { .argv = argv + 1, .out = json_object() };
    int r;

    log_init("ydl-test-deploy");
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
