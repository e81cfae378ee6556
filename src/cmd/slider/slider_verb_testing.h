/* slider_verb_testing.h - for tests of slider's parts: documents as texts in which ' stands for ".
 */
#pragma once
#include "cmd/slider/slider_files.h"
#include "cmd/slider/slider_job.h"
#include "test.h"

#include <string.h>

#define SCHEMA "'schema': '" SLIDER_SCHEMA "'"
#define SCRIPT "'commandScript': {'script': 'scripts/tensorflow.py', 'scriptType': 'PYTHON'}"

/* The text's own three files, their braces in order. */
#define TEXTS_METAINFO                                                                             \
    "{'schemaVersion': '2.1', 'application': {'name': 'tfyarn', 'exportGroups': ["                 \
    "{'name': 'ps', 'exports': [{'name': 'host_port',"                                             \
    "  'value': '${ps_HOST}:${site.global.ps.port}'}]},"                                           \
    "{'name': 'worker', 'exports': [{'name': 'host_port',"                                         \
    "  'value': '${worker_HOST}:${site.global.worker.port}'}]}],"                                  \
    "'components': [{'name': 'ps', 'compExports': 'ps-host_port', " SCRIPT "},"                    \
    "{'name': 'worker', 'compExports': 'worker-host_port', " SCRIPT "}],"                          \
    "'packages': [{'type': 'folder', 'name': 'files'}]}}"
#define TEXTS_CONFIG                                                                               \
    "{" SCHEMA ", 'metadata': {}, 'global': {"                                                     \
    "'site.global.ps.port': '${ps.ALLOCATED_PORT}{PER_CONTAINER}',"                                \
    "'site.global.worker.port': '${worker.ALLOCATED_PORT}{PER_CONTAINER}',"                        \
    "'site.global.run.mode': 'docker', 'site.global.user.scripts.entry': 'trainer.py'}}"
#define TEXTS_RESOURCES                                                                            \
    "{" SCHEMA ", 'metadata': {}, 'global': {}, 'components': {'slider-appmaster': {},"            \
    "'ps': {'yarn.role.priority': '2', 'yarn.component.instances': '2', 'yarn.memory': '1024'},"   \
    "'worker': {'yarn.role.priority': '1', 'yarn.component.instances': '2',"                       \
    " 'yarn.memory': '2056'}}}"

static inline json_t *doc(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    json_t *v = NULL;

    for (char *p = copy; p && *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (copy && json_parse("test", copy, strlen(copy), &v, NULL) == -EINVAL)
        fail_msg("not JSON: %s", copy);
    free(copy);
    return v;
}

/* Documents; NULL: the text's own. False when out of memory. */
static inline bool docs(struct slider_docs *d, const char *metainfo, const char *config,
                        const char *resources)
{
    d->metainfo = doc(metainfo ? metainfo : TEXTS_METAINFO);
    d->config = doc(config ? config : TEXTS_CONFIG);
    d->resources = doc(resources ? resources : TEXTS_RESOURCES);
    d->internal = json_object();
    return d->metainfo && d->config && d->resources && d->internal;
}

/* The job that becomes of them; the notes are joined in *ret_notes, the caller's. */
static inline int make_job(const struct slider_docs *d, bool local, const char *extra,
                           json_t **ret_job, char **ret_notes, struct err *err)
{
    const struct slider_facts facts = { .user = "me",
                                        .fs_uri = "hdfs://nn:8020",
                                        .zk_hosts = "zk:2181" };
    json_t *more = extra ? doc(extra) : NULL;
    const struct slider_job_options o = { .facts = &facts,
                                          .local = local,
                                          .definition = "/d/definition.tar",
                                          .agent = "/d/agent.tar",
                                          .extra = more };
    struct buf all = { .max = MIB };
    struct slider_model m = { 0 };
    struct strs notes = { 0 };
    char *text = NULL;
    int r = extra && !more ? -ENOMEM : slider_model(d, "tf1", &notes, &m, err);

    if (r == 0)
        r = slider_job(&m, &o, &text, err);
    if (r == 0)
        r = json_parse("job", text, strlen(text), ret_job, err);
    for (size_t i = 0; r == 0 && i < notes.n; i++)
        r = buf_printf(&all, "%s\n", notes.v[i]);
    if (r == 0 && ret_notes && !(*ret_notes = strdup(buf_text(&all) ? buf_text(&all) : "")))
        r = -ENOMEM;
    slider_model_done(&m);
    strs_done(&notes);
    buf_done(&all);
    json_decref(more);
    free(text);
    return r;
}

/* What is at "roles.ps.count" in a document, as JSON text without blanks; "" when nothing is. The
 * caller's, NULL when out of memory. */
static inline char *at(const json_t *v, const char *path)
{
    struct strs keys = { 0 };
    char *text = NULL;

    if (strs_split(&keys, path, "|") < 0)
        v = NULL;
    for (size_t i = 0; i < keys.n; i++)
        v = json_object_get(v, keys.v[i]);
    text = v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("");
    for (char *p = text; p && *p; p++)
        *p = *p == '"' ? '\'' : *p;
    strs_done(&keys);
    return text;
}
