/* yarn_job_facts.c - one reader and one writer of the same keys, side by side, so that they
 * cannot drift apart. See yarn_job_facts.h. */
#include "platform/yarn/yarn_job_facts.h"
#include "base/buf.h"
#include "base/str.h"

#include <string.h>

static int yarn_copy(const char *text, char **ret, struct err *err)
{
    if (!text)
        return 0;
    *ret = strdup(text);
    return *ret ? 0 : err_oom(err);
}

static int yarn_read_file(const json_t *v, struct yarn_facts_file *ret, struct err *err)
{
    const char *url = NULL;
    json_int_t size = 0, timestamp = 0;
    int archive = 0, brief = 0, r;

    if (json_unpack((json_t *)v, "{s:s, s:I, s:I, s?b, s?b}", "url", &url, "size", &size,
                    "timestamp", &timestamp, "archive", &archive, "brief", &brief) < 0)
        return err_set(err, -EINVAL, "the job's facts have a file without url, size or time");
    ret->size = size;
    ret->timestamp = timestamp;
    ret->archive = archive;
    ret->brief = brief;
    r = yarn_copy(json_string_value(json_object_get(v, "to")), &ret->to, err);
    if (r == 0)
        r = yarn_copy(json_string_value(json_object_get(v, "role")), &ret->role, err);
    return r < 0 ? r : yarn_copy(url, &ret->url, err);
}

static int read_node(const json_t *v, struct yarn_facts_node *ret, struct err *err)
{
    const char *host = NULL;
    json_int_t memory = 0, vcores = 0, gpus = 0;
    int r;

    if (json_unpack((json_t *)v, "{s:s, s?I, s?I, s?I}", "host", &host, "memory", &memory, "vcores",
                    &vcores, "gpus", &gpus) < 0)
        return err_set(err, -EINVAL, "the job's facts have a node without a host");
    ret->memory = memory;
    ret->vcores = vcores;
    ret->gpus = gpus;
    r = yarn_copy(host, &ret->host, err);
    if (r == 0)
        r = yarn_copy(json_string_value(json_object_get(v, "rack")), &ret->rack, err);
    return r < 0 ? r : yarn_copy(json_string_value(json_object_get(v, "label")), &ret->label, err);
}

static int yarn_read_files(const json_t *list, struct yarn_facts *ret, struct err *err)
{
    size_t n = json_array_size(list);
    int r = 0;

    ret->files = calloc(n ? n : 1, sizeof(*ret->files));
    if (!ret->files)
        return err_oom(err);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = yarn_read_file(json_array_get(list, i), &ret->files[ret->n_files++], err);
        if (r == 0 && !ret->files[i].to)
            r = err_set(err, -EINVAL, "the job's facts have a file without a name");
    }
    return r;
}

static int yarn_read_nodes(const json_t *list, struct yarn_facts *ret, struct err *err)
{
    size_t n = json_array_size(list);
    int r = 0;

    ret->nodes = calloc(n ? n : 1, sizeof(*ret->nodes));
    if (!ret->nodes)
        return err_oom(err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = read_node(json_array_get(list, i), &ret->nodes[ret->n_nodes++], err);
    return r;
}

int yarn_facts_read(const json_t *job, struct yarn_facts *ret, struct err *err)
{
    int r;

    *ret =
        (struct yarn_facts){ .heartbeat = json_integer_value(json_object_get(job, "heartbeat")) };
    r = yarn_read_file(json_object_get(job, "program"), &ret->program, err);
    if (r == 0)
        r = yarn_read_files(json_object_get(job, "files"), ret, err);
    return r < 0 ? r : yarn_read_nodes(json_object_get(job, "nodes"), ret, err);
}

/* ---- writing ---- */

static json_t *file_json(const struct yarn_facts_file *f)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:b, s:b}", "to", json_text(f->to), "role",
                     json_text(f->role), "url", json_text(f->url), "size", (json_int_t)f->size,
                     "timestamp", (json_int_t)f->timestamp, "archive", f->archive, "brief",
                     f->brief);
}

static json_t *node_json(const struct yarn_facts_node *n)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I}", "host", json_text(n->host), "rack",
                     json_text(n->rack), "label", json_text(n->label), "memory",
                     (json_int_t)n->memory, "vcores", (json_int_t)n->vcores, "gpus",
                     (json_int_t)n->gpus);
}

int yarn_facts_write(const struct yarn_facts *f, json_t *job, struct err *err)
{
    json_t *files = json_array(), *nodes = json_array();
    int r = files && nodes ? 0 : -1;

    for (size_t i = 0; r == 0 && i < f->n_files; i++)
        r = json_array_append_new(files, file_json(&f->files[i]));
    for (size_t i = 0; r == 0 && i < f->n_nodes && i < YARN_FACTS_NODES_MAX; i++)
        r = json_array_append_new(nodes, node_json(&f->nodes[i]));
    if (r == 0)
        r = json_object_set_new(job, "program", file_json(&f->program));
    if (r == 0)
        r = json_object_set_new(job, "heartbeat", json_integer(f->heartbeat));
    r |= json_object_set_new(job, "files", files);
    r |= json_object_set_new(job, "nodes", nodes);
    return r ? err_oom(err) : 0;
}

static void yarn_file_done(struct yarn_facts_file *f)
{
    free(f->to);
    free(f->role);
    free(f->url);
}

void yarn_facts_done(struct yarn_facts *f)
{
    yarn_file_done(&f->program);
    for (size_t i = 0; i < f->n_files; i++)
        yarn_file_done(&f->files[i]);
    for (size_t i = 0; i < f->n_nodes; i++) {
        free(f->nodes[i].host);
        free(f->nodes[i].rack);
        free(f->nodes[i].label);
    }
    free(f->files);
    free(f->nodes);
    *f = (struct yarn_facts){ 0 };
}

/* ---- sizes ---- */

void yarn_role_resource(const struct spec_role *role, struct yarn_role_room *room,
                        struct yarn_resource *ret)
{
    *ret = (struct yarn_resource){
        .memory_mb = role->memory ? (int64_t)((role->memory + MIB - 1) / MIB) : YARN_ROLE_MEMORY_MB,
        .vcores = role->cpus ? (int32_t)role->cpus : 1,
    };
    ret->more = room->more;
    if (role->gpus > 0)
        room->more[ret->n_more++] = (struct yarn_amount){ .name = YARN_GPU, .value = role->gpus };
    for (size_t i = 0; i < role->resources.n && i < SPEC_AMOUNTS_MAX; i++)
        room->more[ret->n_more++] = (struct yarn_amount){
            .name = role->resources.v[i].name,
            .value = role->resources.v[i].value,
        };
}
