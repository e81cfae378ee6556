/* pyenv_conda.c - a conda environment as it is to be in an archive: conda's records, and the files
 * that say where it is.
 *
 *     conda-meta/PACKAGE.json     which of its files have which placeholder
 *         ──► the path of this place is replaced by the placeholder in each of them (pyenv_hold)
 *         ──► conda-meta/ydl-places lists them for whoever unpacks (conda_prefix_env.c)
 *         ──► the record itself goes without what was true of this place only
 *
 * See pyenv.h and pyenv/conda_prefix.h. */
#include "base/json.h"
#include "base/path.h"
#include "pyenv/pack_private.h"
#include "pyenv/pyenv.h"

#include <fcntl.h>
#include <string.h>

#define RECORD_MAX (256 * MIB)
#define LIST_MAX (64 * MIB)
#define PLACE_USUAL 128 /* usual length of an unpacked archive's path */
#define SHOWN 3         /* files that are named */

/* A file of a package that has a placeholder, as the package's record says. */
struct held {
    const char *name, *holder;
    bool binary;
};

/* ---- one file ---- */

static int pyenv_compare(const void *name, const void *entry)
{
    return strcmp(name, ((const struct pack_entry *)entry)->name);
}

static int pyenv_add_row(struct buf *rows, const struct held *h, const char *holder)
{
    return buf_printf(rows, "%s\t%s\t%s\n", h->binary ? "binary" : "text", holder, h->name);
}

/* What it was made with stands there too, when the environment was never told its place. */
static int all_places(const struct pyenv *e, const struct held *h, struct strs *ret)
{
    int r = strs_add(ret, h->holder);

    for (size_t i = 0; i < e->prefixes.n && r == 0; i++)
        r = strs_add(ret, e->prefixes.v[i]);
    return r;
}

static int hold_text(const struct conda_prefix_move *m, const struct held *h,
                     struct pack_entry *entry, struct buf *rows, struct err *err)
{
    AUTO_BUF text = { .max = CONDA_PREFIX_TEXT_MAX }, out = { .max = 64 * CONDA_PREFIX_TEXT_MAX };
    int r = entry->data ? 0 : path_read(entry->path, &text, err);

    if (r < 0)
        return r == -E2BIG ? 0 : r; /* no text that anybody wrote */
    if (!entry->data && text.len == 0)
        return 0;
    r = entry->data ? conda_prefix_text(m, entry->data, entry->n_data, &out)
                    : conda_prefix_text(m, (const char *)text.data, text.len, &out);
    if (r == 0)
        return 0;
    if (r < 0 || !buf_text(&out) || pyenv_add_row(rows, h, h->holder) < 0)
        return err_oom(err);
    free(entry->data);
    entry->n_data = out.len;
    entry->data = (char *)take(out.data);
    return 0;
}

/* One whose strings have no room, as no package is made, can be told places that are shorter. */
static int hold_binary(const struct conda_prefix_move *m, const struct held *h,
                       struct pack_entry *entry, struct buf *rows, struct err *err)
{
    AUTO_CLOSE int fd = open(entry->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t stuck = 0;
    int r;

    if (fd < 0)
        return err_sys(err, "read '%s'", entry->path);
    r = conda_prefix_binary(m, fd, entry->stamp.size, &entry->patches, &stuck);
    if (r < 0)
        return err_code(err, r, "read '%s'", entry->path);
    if (entry->patches.n)
        r = pyenv_add_row(rows, h, h->holder);
    else if (stuck)
        r = pyenv_add_row(rows, h, m->from->v[m->from->n - 1]);
    return r < 0 ? err_oom(err) : 0;
}

/* The archive holds the placeholder that the package was made with, and a list of the files that
 * have it: whoever unpacks the archive writes its own path there, as conda does when it installs.
 */
static int pyenv_hold(const struct pyenv *e, const struct held *h, struct pack_list *l,
                      struct buf *rows, struct err *err)
{
    struct pack_entry *entry = bsearch(h->name, l->v, l->n, sizeof(*l->v), pyenv_compare);
    AUTO_STRS from = { 0 };
    const struct conda_prefix_move m = { &from, h->holder };

    if (!entry || entry->type != PACK_FILE || entry->patches.n)
        return 0;
    if (all_places(e, h, &from) < 0)
        return err_oom(err);
    return h->binary && !entry->data ? hold_binary(&m, h, entry, rows, err)
                                     : hold_text(&m, h, entry, rows, err);
}

/* ---- conda's records ---- */

static bool fits_a_line(const char *s)
{
    return s && *s && !strpbrk(s, "\t\r\n");
}

/* A row of a record; false when the file has no placeholder. */
static bool held_of(json_t *row, struct held *ret)
{
    const char *mode = json_string_value(json_object_get(row, "file_mode"));

    *ret = (struct held){ .name = json_string_value(json_object_get(row, "_path")),
                          .holder = json_string_value(json_object_get(row, "prefix_placeholder")),
                          .binary = mode && str_eq(mode, "binary") };
    return fits_a_line(ret->name) && fits_a_line(ret->holder) && *ret->holder == '/' &&
           ret->holder[1];
}

/* The package's cache, where it was downloaded: nothing of that is in the archive. */
static int forget_origin(json_t *record)
{
    static const char *const names[] = { "extracted_package_dir", "package_tarball_full_path" };
    json_t *link = json_object_get(record, "link");
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (json_object_get(record, names[i]))
            r |= json_object_set_new(record, names[i], json_string(""));
    if (json_is_object(link))
        r |= json_object_set_new(link, "source", json_string(""));
    return r ? -ENOMEM : 0;
}

/* What a file was in this place: a file that contains the path, or a script that was generated
 * there. */
static void forget_content(json_t *row, bool has_holder)
{
    const char *type = json_string_value(json_object_get(row, "path_type"));
    bool made = type && str_ends(type, "_entry_point");

    (void)json_object_del(row, "sha256_in_prefix");
    if (has_holder || made)
        (void)json_object_del(row, "size_in_bytes");
    if (made)
        (void)json_object_del(row, "sha256");
}

static int hold_all(const struct pyenv *e, json_t *record, struct pack_list *l, struct buf *rows,
                    struct err *err)
{
    json_t *paths = json_object_get(json_object_get(record, "paths_data"), "paths"), *row;
    size_t i;

    json_array_foreach(paths, i, row)
    {
        struct held h;
        bool held = held_of(row, &h);
        int r = held ? pyenv_hold(e, &h, l, rows, err) : 0;

        if (r < 0)
            return r;
        forget_content(row, held);
    }
    return 0;
}

static int pyenv_change_record(const struct pyenv *e, size_t at, struct pack_list *l,
                               struct buf *rows, struct err *err)
{
    AUTO_BUF text = { .max = RECORD_MAX };
    AUTO_JSON *record = NULL;
    int r = path_read(l->v[at].path, &text, err);

    if (r < 0)
        return r;
    r = json_parse(l->v[at].name, text.data, text.len, &record, NULL);
    if (r < 0)
        return r == -ENOMEM ? err_oom(err) : 0; /* conda's business */
    if (!json_is_object(record))
        return 0;
    r = hold_all(e, record, l, rows, err);
    if (r < 0)
        return r;
    l->v[at].data = forget_origin(record) < 0 ? NULL : json_dumps(record, JSON_INDENT(2));
    if (!l->v[at].data)
        return err_oom(err);
    l->v[at].n_data = strlen(l->v[at].data);
    return 0;
}

static bool is_record(const struct pack_entry *entry)
{
    static const char dir[] = "conda-meta/";

    return entry->type == PACK_FILE && !entry->data && str_starts(entry->name, dir) &&
           !strchr(entry->name + strlen(dir), '/') && str_ends(entry->name, ".json");
}

int pyenv_conda(const struct pyenv *e, struct pack_list *l, struct err *err)
{
    AUTO_BUF rows = { .max = LIST_MAX };
    int r = pack_settle(l, err);

    for (size_t i = 0; i < l->n && r == 0; i++)
        if (is_record(&l->v[i]))
            r = pyenv_change_record(e, i, l, &rows, err);
    if (r < 0 || rows.len == 0)
        return r;
    if (!buf_text(&rows) ||
        pack_add_data(l, CONDA_PREFIX_LIST, (char *)take(rows.data), rows.len, false) < 0)
        return err_oom(err);
    return 0;
}

/* ---- what there is to say ---- */

static const char *pyenv_list_of(const struct pack_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].name, CONDA_PREFIX_LIST))
            return l->v[i].data;
    return NULL;
}

int pyenv_conda_notes(const struct pack_list *l, struct strs *ret)
{
    AUTO_BUF names = { .max = 64 * KIB };
    AUTO_STRS lines = { 0 };
    const char *list = pyenv_list_of(l);
    size_t n = 0, least = PLACE_USUAL;

    if (list && strs_split(&lines, list, "\n") < 0)
        return -ENOMEM;
    for (size_t i = 0; i < lines.n; i++) {
        const char *holder = str_starts(lines.v[i], "binary\t") ? strchr(lines.v[i], '\t') + 1 : "";
        size_t room = strcspn(holder, "\t");

        if (room == 0 || room >= PLACE_USUAL || ++n > SHOWN)
            continue;
        least = room < least ? room : least;
        if (buf_printf(&names, "%s%s", n > 1 ? ", " : "", holder + room + 1) < 0)
            return -ENOMEM;
    }
    if (n == 0)
        return 0;
    return strs_take(
        ret,
        str_printf(
            "these files contain the environment's path, and have room for at most %zu bytes: %s%s",
            least, buf_text(&names) ? (const char *)names.data : "", n > SHOWN ? ", …" : ""));
}
