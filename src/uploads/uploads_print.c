/* uploads_print.c - what travels, for people and for programs. See uploads.h. */
#include "uploads/uploads.h"

#include <string.h>

#define FOUND_SHOWN 20 /* a project may have hundreds of modules beside its script */

static int print_item(const struct uploads_item *item, struct buf *out)
{
    char to[256], from[256], size[STR_SIZE_MAX];
    int r;

    str_clean(to, sizeof(to), item->to);
    str_clean(from, sizeof(from), item->from);
    r = buf_printf(out, "  %s%s", to, item->directory ? "/" : "");
    if (r == 0 && !item->found)
        r = buf_printf(out, " ← %s", from);
    if (r == 0 && !item->remote)
        r = buf_printf(out, "  %s", str_size(item->size, size));
    if (r == 0 && item->directory)
        r = buf_printf(out, " in %llu files", (unsigned long long)item->n_files);
    if (r == 0 && item->remote)
        r = buf_add_str(out, "  used where it is");
    if (r == 0 && item->archive)
        r = buf_add_str(out, ", unpacked");
    if (r == 0 && item->role)
        r = buf_printf(out, ", for %s", item->role);
    return r < 0 ? r : buf_add_u8(out, '\n');
}

static int print_some(const struct uploads_list *l, bool found, size_t most, struct buf *out)
{
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < l->n; i++) {
        if (l->v[i].found != found)
            continue;
        if (n++ < most)
            r = print_item(&l->v[i], out);
    }
    if (r == 0 && n > most)
        r = buf_printf(out, "  … and %zu more\n", n - most);
    return r;
}

int uploads_print(const struct uploads_list *l, struct buf *out)
{
    char size[STR_SIZE_MAX];
    size_t found = 0;
    int r = 0;

    for (size_t i = 0; i < l->n; i++)
        found += l->v[i].found;
    if (found < l->n)
        r = buf_add_str(out, "uploads, as listed in the job:\n");
    if (r == 0)
        r = print_some(l, false, SIZE_MAX, out);
    if (r == 0 && found)
        r = buf_printf(out, "uploads %s that the command needs (off: --no-ship):\n",
                       str_size(l->bundle.bytes, size));
    return r < 0 ? r : print_some(l, true, FOUND_SHOWN, out);
}

static json_t *item_json(const struct uploads_item *item)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:o, s:I}", "from",
                    json_text(item->from), "to", json_text(item->to), "role", json_text(item->role),
                    "remote", item->remote, "archive", item->archive, "directory", item->directory,
                    "found", item->found, "size",
                    item->remote ? json_null() : json_integer((json_int_t)item->size), "files",
                    (json_int_t)item->n_files);
    return v;
}

int uploads_json(const struct uploads_list *l, json_t **ret, struct err *err)
{
    AUTO_JSON *list = json_array();

    for (size_t i = 0; list && i < l->n; i++)
        if (json_array_append_new(list, item_json(&l->v[i])) < 0)
            return err_oom(err);
    *ret = take(list);
    return *ret ? 0 : err_oom(err);
}
