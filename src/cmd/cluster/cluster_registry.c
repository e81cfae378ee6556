/* cluster_registry.c - `ydl cluster registry [PATH]`: what stands in YARN's registry. */
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/verbs.h"
#include "hadoop/registry/registry.h"

#include <stdio.h>
#include <string.h>

#define CALL_MS 15000
#define CLEAN 1024

struct look {
    char *path;
    json_t *record; /* NULL: only other paths are below */
    struct strs below;
};

/* Ours, unless somebody says where. */
static int find_path(struct connection *x, char **ret, struct err *err)
{
    char user[REGISTRY_LABEL];
    int r;

    if (x->cli->n_operands > 0) {
        *ret = strdup(x->cli->operands[0]);
        return *ret ? 0 : err_oom(err);
    }
    r = connect_user(x, err);
    if (r < 0)
        return r;
    *ret = str_printf("/users/%s/services/ydl", registry_user(session_user(x->session), user));
    return *ret ? 0 : err_oom(err);
}

static int check_configured(struct connection *x, struct err *err)
{
    AUTO_STRS keys = { 0 };
    int r = conf_keys(session_conf(x->session), "hadoop.registry.zk.quorum", &keys, err);

    if (r < 0 || keys.n > 0)
        return r;
    err_set(err, -ENODATA, "this cluster has no registry");
    err_hint(err, "'hadoop.registry.zk.quorum' is not set: it names the ZooKeeper servers");
    return -ENODATA;
}

static int cluster_registry_look(struct connection *x, struct look *k, struct err *err)
{
    AUTO_REGISTRY *r = NULL;
    int64_t deadline = loop_in(x->loop, CALL_MS);
    int rc = registry_open(x->loop, session_conf(x->session), deadline, &r, err);

    if (rc == 0)
        rc = registry_get(r, k->path, &k->record, deadline, err);
    if (rc == -ENODATA) {
        err_clear(err);
        rc = 0;
    }
    if (rc == 0)
        rc = registry_list(r, k->path, &k->below, deadline, err);
    if (rc == -ENOENT && x->cli->n_operands == 0) { /* no job of ours has ever been there */
        err_clear(err);
        rc = 0;
    }
    return rc;
}

/* Records are others' text. */
static void print_address(const json_t *endpoint)
{
    const char *protocol = NULL, *uri = NULL, *host = NULL, *port = NULL;
    char text[CLEAN], name[64];

    (void)json_unpack((json_t *)endpoint, "{s?s, s:[{s?s, s?s, s?s}]}", "protocolType", &protocol,
                      "addresses", "uri", &uri, "host", &host, "port", &port);
    str_clean(name, sizeof(name), protocol ? protocol : "?");
    str_clean(text, sizeof(text), uri ? uri : host ? host : "?");
    printf("%s: %s", name, text);
    str_clean(text, sizeof(text), port ? port : "");
    printf("%s%s\n", !uri && port ? ":" : "", !uri && port ? text : "");
}

static void cluster_registry_print_text(const struct look *k)
{
    const json_t *external = json_object_get(k->record, "external");
    const char *id = k->record ? registry_record_text(k->record, "yarn:id") : NULL;
    char text[CLEAN];

    if (id) {
        str_clean(text, sizeof(text), id);
        printf("%s\n", text);
    }
    for (size_t i = 0; i < json_array_size(external); i++)
        print_address(json_array_get(external, i));
    for (size_t i = 0; i < k->below.n; i++) {
        str_clean(text, sizeof(text), k->below.v[i]);
        printf("%s\n", text);
    }
}

static int cluster_registry_print_json(const struct look *k, struct err *err)
{
    return doc_print(err, "{s:o, s:O?, s:o}", "path", json_text(k->path), "record", k->record,
                     "below", json_texts(k->below.v, k->below.n));
}

static int cluster_registry_work(struct connection *x, void *arg, struct err *err)
{
    struct look k = { 0 };
    int r = check_configured(x, err);

    (void)arg;
    if (r == 0)
        r = find_path(x, &k.path, err);
    if (r == 0)
        r = cluster_registry_look(x, &k, err);
    if (r == 0 && x->globals->json)
        r = cluster_registry_print_json(&k, err);
    else if (r == 0)
        cluster_registry_print_text(&k);
    json_decref(k.record);
    strs_done(&k.below);
    free(k.path);
    return r;
}

static int cluster_registry_run(struct cli *c, struct err *err)
{
    return connect_run(c, CONNECT_CONFIGURED, cluster_registry_work, NULL, err);
}

/* clang-format off */
const struct cli_verb verb_cluster_registry = {
    .name = "registry", .summary = "show entries of YARN's registry", .operands = "[PATH]",
    .most = 1, .run = cluster_registry_run,
    .text = "Shows the record at a path of YARN's registry, and the names below it. The default "
            "PATH is that of your jobs.",
    CLI_EXAMPLES({ "ydl cluster registry", "list your jobs in the registry" },
                 { "ydl cluster registry /users/alice/services/ydl/mnist",
                   "show where the API and page of a job are" }),
};
/* clang-format on */
