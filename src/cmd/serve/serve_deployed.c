/* serve_deployed.c - see serve_deployed.h. */
#include "cmd/serve/serve_deployed.h"
#include "cli/doc.h"

#include <stdio.h>

static void deployed_note(const struct serve_deployed *d)
{
    for (size_t i = 0; i < d->n && !d->quiet; i++) {
        const struct serve_version *v = &d->models[i].v;
        AUTO_FREE char *library = serve_version_library(v);

        fprintf(stderr, "ydl: %s:%lld, %u replica%s, %s\n", v->m.name, (long long)v->m.version,
                d->models[i].replicas, d->models[i].replicas == 1 ? "" : "s",
                library ? library : "?");
    }
}

static json_t *deployed_models(const struct serve_deployed *d)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < d->n; i++) {
        const struct serve_version *v = &d->models[i].v;

        if (json_array_append_new(list, json_pack("{s:s, s:I, s:o, s:o}", "model", v->m.name,
                                                  "version", (json_int_t)v->m.version, "follows",
                                                  json_text(d->models[i].alias), "library",
                                                  serve_version_library_json(v))) < 0)
            return NULL;
    }
    return take(list);
}

int serve_deployed_print(const struct serve_deployed *d, struct err *err)
{
    const struct serve_version *v = &d->models[0].v;
    const json_t *one;
    size_t i;

    if (!d->json) {
        deployed_note(d);
        json_array_foreach(d->urls, i, one) printf("%s\n", json_string_value(one));
        return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
    }
    return doc_print(err, "{s:s, s:s, s:O, s:O, s:s, s:I, s:i, s:o, s:o}", "name", d->name, "job",
                     d->job, "url", json_array_get(d->urls, 0), "urls", d->urls, "model", v->m.name,
                     "version", (json_int_t)v->m.version, "replicas", (int)d->models[0].replicas,
                     "library", serve_version_library_json(v), "models", deployed_models(d));
}
