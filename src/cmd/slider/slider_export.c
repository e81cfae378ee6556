/* slider_export.c - what a component exports, and after which others it starts; see
 * slider_export.h.
 */
#include "cmd/slider/slider_export.h"

#include <string.h>

#define TEXT_MAX (64 * KIB)

static int slider_add_set(json_t *v, const char *key, json_t *value)
{
    return json_object_set_new(v, key, value) < 0 ? -ENOMEM : 0;
}

/* ---- exports ---- */

/* "ps-host_port" in a list of a component: is it this export? */
static bool listed(const char *list, const char *group, const char *name)
{
    while (list && *list) {
        size_t n, g = strlen(group);

        list += strspn(list, ", \t\n");
        n = strcspn(list, ", \t\n");
        if (n == g + 1 + strlen(name) && strncasecmp(list, group, g) == 0 && list[g] == '-' &&
            strncmp(list + g + 1, name, strlen(name)) == 0)
            return true;
        list += n;
    }
    return false;
}

/* An export that no component lists is of the one whose host it names. */
static bool exports_it(const struct slider_making *k, const char *group, const json_t *export)
{
    const char *name = json_string_value(json_object_get(export, "name"));
    const char *value = json_string_value(json_object_get(export, "value"));
    AUTO_FREE char *host = str_printf("${%s_HOST}", k->c->name);
    bool lists = false;

    for (size_t i = 0; i < k->m->n; i++) {
        const json_t *info = k->m->v[i].info;
        bool here = listed(json_string_value(json_object_get(info, "compExports")), group, name) ||
                    listed(json_string_value(json_object_get(info, "appExports")), group, name);

        if (here && k->m->v[i].info == k->c->info)
            return true;
        lists |= here;
    }
    return !lists && host && strstr(value, host);
}

static int slider_add_export(const struct slider_making *k, const char *group, const json_t *export,
                             json_t *exports, struct err *err)
{
    const char *name = json_string_value(json_object_get(export, "name"));
    const char *value = json_string_value(json_object_get(export, "value"));
    AUTO_FREE char *key = name ? str_printf("%s/%s", group, name) : NULL;
    AUTO_BUF marked = { .max = TEXT_MAX };
    AUTO_BUF text = { .max = TEXT_MAX };
    int r;

    if (!name || !value)
        return cli_bad(err, "metainfo.json: an export of group '%s' has no name or value", group);
    if (!exports_it(k, group, export))
        return 0;
    r = slider_resolve_export(&k->tokens, k->dicts, value, &marked, err);
    if (r < 0)
        return r;
    if (!key || !buf_text(&marked) || slider_write_text(buf_text(&marked), &text) < 0 ||
        !buf_text(&text) || slider_add_set(exports, key, json_text(buf_text(&text))) < 0)
        return err_oom(err);
    return 0;
}

int slider_add_exports(const struct slider_making *k, struct err *err)
{
    const json_t *groups = json_object_get(k->m->metainfo, "exportGroups"), *group, *export;
    AUTO_JSON *exports = json_object();
    size_t i, j;
    int r = exports ? 0 : err_oom(err);

    json_array_foreach(groups, i, group)
    {
        const char *name = json_string_value(json_object_get(group, "name"));

        if (r == 0 && !name)
            r = cli_bad(err, "metainfo.json: an export group has no \"name\"");
        json_array_foreach(json_object_get(group, "exports"), j, export)
        {
            if (r == 0 && name)
                r = slider_add_export(k, name, export, exports, err);
        }
    }
    if (r == 0 && json_object_size(exports) > 0 && json_object_set(k->role, "exports", exports) < 0)
        r = err_oom(err);
    return r;
}

/* ---- order ---- */

/* "worker-START" requires "ps-STARTED": what one of these words says of which component. */
static const struct slider_component *order_of(const struct slider_making *k, const char *word,
                                               size_t n, const char *what)
{
    size_t tail = strlen(what);

    return n > tail && memcmp(word + n - tail, what, tail) == 0
               ? slider_component(k->m, word, n - tail)
               : NULL;
}

static int add_order(const struct slider_making *k, const json_t *order, json_t *after)
{
    const char *command = json_string_value(json_object_get(order, "command"));
    const char *list = json_string_value(json_object_get(order, "requires"));

    if (!command || order_of(k, command, strlen(command), "-START") != k->c)
        return 0;
    while (list && *list) {
        size_t n;
        const struct slider_component *c;
        AUTO_BUF role = { .max = KIB };

        list += strspn(list, ", \t\n");
        n = strcspn(list, ", \t\n");
        c = order_of(k, list, n, "-STARTED");
        list += n;
        if (c && c != k->c &&
            (slider_role(c, &role) < 0 || !buf_text(&role) ||
             slider_add_set(after, buf_text(&role), json_string("started")) < 0))
            return -ENOMEM;
    }
    return 0;
}

int slider_add_orders(const struct slider_making *k, struct err *err)
{
    const json_t *orders = json_object_get(k->m->metainfo, "commandOrders"), *order;
    AUTO_JSON *after = json_object();
    size_t i;
    int r = after ? 0 : -ENOMEM;

    json_array_foreach(orders, i, order)
    {
        if (r == 0)
            r = add_order(k, order, after);
    }
    if (r == 0 && json_object_size(after) > 0)
        r = json_object_set(k->role, "after", after) < 0 ? -ENOMEM : 0;
    return r < 0 ? err_oom(err) : 0;
}
