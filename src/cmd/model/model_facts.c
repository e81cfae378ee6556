/* model_facts.c - versions as text and as JSON. See model_call.h. */
#include "cmd/model/model_call.h"

#include <string.h>

int model_alias_text(const struct alias_list *aliases, int64_t version, struct buf *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < aliases->n; i++)
        if (aliases->v[i].version == version &&
            buf_printf(ret, "%s%s", n++ ? ", " : "", aliases->v[i].name) < 0)
            return -ENOMEM;
    return n ? 0 : buf_add_str(ret, "-");
}

int model_framework_text(const struct manifest *m, struct buf *ret)
{
    const json_t *f = json_object_get(m->doc, "framework");
    const char *version = json_string_value(json_object_get(f, "version"));
    int64_t opset = json_int_or(f, "opset", 0);

    if (buf_add_str(ret, m->format) < 0)
        return -ENOMEM;
    if (opset)
        return buf_printf(ret, " opset %lld", (long long)opset);
    return version ? buf_printf(ret, " %s", version) : 0;
}

static json_t *model_aliases_of(const struct alias_list *aliases, int64_t version)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < aliases->n; i++)
        if (aliases->v[i].version == version &&
            json_array_append_new(list, json_text(aliases->v[i].name)) < 0)
            return NULL;
    return take(list);
}

json_t *model_brief(const struct manifest *m, const struct alias_list *aliases)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:I, s:s, s:I, s:I, s:s, s:o}", "version", (json_int_t)m->version,
                    "format", m->format, "bytes", (json_int_t)m->bytes, "created_ms",
                    (json_int_t)m->created_ms, "created_by", m->created_by, "aliases",
                    model_aliases_of(aliases, m->version));
    return v;
}

int model_print_json(json_t *v, struct err *err)
{
    AUTO_JSON *owned = v;

    return owned ? json_print(stdout, owned, err) : err_oom(err);
}
