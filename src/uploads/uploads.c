/* uploads.c - the list of what travels, and what the job names. See uploads.h. */
#include "uploads/uploads.h"
#include "base/array.h"
#include "base/path.h"
#include "hadoop/yarn/launch_context.h"
#include "uploads/cache_name.h"
#include "uploads/uploads_private.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the list ---- */

void uploads_item_done(struct uploads_item *item)
{
    free(item->from);
    free(item->to);
    free(item->role);
    if (item->tree)
        pack_list_done(item->tree);
    free(item->tree);
}

void uploads_done(struct uploads_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        uploads_item_done(&l->v[i]);
    free(l->v);
    pack_list_done(&l->bundle);
    strs_done(&l->notes);
    *l = (struct uploads_list){ 0 };
}

int uploads_push(struct uploads_list *l, struct uploads_item item)
{
    if (item.from && item.to && ARRAY_ADD(l->v, l->n, item) == 0)
        return 0;
    uploads_item_done(&item);
    return -ENOMEM;
}

int uploads_add(struct uploads_list *l, const char *from, const char *to, struct err *err)
{
    struct uploads_item item = { 0 };
    struct stat st;

    if (stat(from, &st) < 0)
        return err_sys(err, "'%s' cannot be read", from);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "'%s' is not a file", from);
    item.from = strdup(from);
    item.to = strdup(to);
    item.size = (uint64_t)st.st_size;
    return uploads_push(l, item) < 0 ? err_oom(err) : 0;
}

/* A fault is noted and the search goes on, so that a person hears of all of them at once. Only a
 * lack of memory ends it. */
int uploads_refuse(struct uploads_search *s, const char *key, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    s->failed = true;
    return spec_fault(s->faults, 0, key, "%s", text) == -ENOMEM ? -ENOMEM : 0;
}

bool uploads_travels(const struct spec_role *role)
{
    return role->place == SPEC_PLACE_CLUSTER;
}

/* ---- what the job names ---- */

/* One entry of `files:` or `archives:`. */
struct named {
    const struct spec_file *file;
    const char *key; /* for faults: "roles.worker.files[0]" */
    const char *role;
    bool archive;
};

/* NodeManagers look at the ending and nothing else. */
bool uploads_can_unpack(const char *name)
{
    return *cache_ending(name) != '\0';
}

/* The same function that later makes YARN's record is tried on the name, so that the check cannot
 * be another one. A local file's URL is not known yet: any good one stands for it. */
static int uploads_check_name(struct uploads_search *s, const struct named *n,
                              const struct uploads_item *item)
{
    AUTO_FREE char *base = item->remote ? path_base(item->from) : strdup("x");
    AUTO_FREE char *url = base ? str_printf("hdfs://h/%s", base) : NULL;
    struct yarn_file file = { .url = url };
    Yarn__StringLocalResourceMap *row = NULL;
    struct err err = ERR_INIT;
    int r = url ? yarn_file_resource(item->to, &file, &row, &err) : -ENOMEM;

    message_free(row);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return uploads_refuse(s, n->key, "%s", err.text);
    if (str_eq(item->to, UPLOADS_BUNDLE) || str_eq(item->to, UPLOADS_ENV) ||
        str_eq(item->to, "ydl-node"))
        return uploads_refuse(s, n->key, "the name '%s' is reserved by ydl", item->to);
    return 0;
}

static int look_at_directory(struct uploads_search *s, const struct named *n,
                             struct uploads_item *item)
{
    AUTO_PACK_LIST tree = { 0 };
    struct err err = ERR_INIT;
    int r;

    if (n->archive)
        return uploads_refuse(s, n->key, "'%s' is a directory, not an archive: list it under files",
                              n->file->from);
    r = pack_add(&tree, item->from, "", NULL, &err);
    if (r < 0)
        return r == -ENOMEM ? r : uploads_refuse(s, n->key, "%s", err.text);
    item->directory = true;
    item->size = tree.bytes;
    item->n_files = tree.n_files;
    return 0;
}

static int look_at_local(struct uploads_search *s, const struct named *n, struct uploads_item *item)
{
    struct stat st;

    if (stat(item->from, &st) < 0 || access(item->from, R_OK) < 0) {
        struct err err = ERR_INIT;

        err_sys(&err, "'%s' cannot be read", n->file->from);
        return uploads_refuse(s, n->key, "%s", err.text);
    }
    if (S_ISDIR(st.st_mode))
        return look_at_directory(s, n, item);
    if (!S_ISREG(st.st_mode))
        return uploads_refuse(s, n->key, "'%s' is neither a file nor a directory", n->file->from);
    item->size = (uint64_t)st.st_size;
    return 0;
}

/* "hdfs" of "hdfs://ns/x"; 0 bytes when it is a path. A path with a colon in it ("a:b/c") is none:
 * it is "://" that makes a scheme. */
static size_t scheme_of(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || (n > 0 && strchr("+-.", text[n]) && text[n]))
        n++;
    return n > 0 && str_starts(text + n, "://") ? n : 0;
}

/* Where it is. */
int uploads_place(struct uploads_search *s, const char *key, const char *from,
                  struct uploads_item *item)
{
    size_t scheme = scheme_of(from);

    if (str_starts(from, "hdfs://") || str_starts(from, "viewfs://")) {
        item->remote = true;
        item->from = strdup(from);
    } else if (str_starts(from, "file:///")) {
        item->from = strdup(from + strlen("file://"));
    } else if (scheme) {
        return uploads_refuse(s, key, "'%s': files can be local, or on hdfs:// or viewfs://", from);
    } else {
        item->from = path_join(s->options->cwd, from);
    }
    return item->from ? 0 : -ENOMEM;
}

/* Whether every container of the role gets it already: a file may be named twice. */
static bool is_twin(const struct uploads_list *l, const struct uploads_item *item)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].to, item->to) && (!l->v[i].role || str_eq(l->v[i].role, item->role)))
            return true;
    return false;
}

/* Everything that is to be known of it. Sets s->failed when it cannot travel. */
static int uploads_look_at(struct uploads_search *s, const struct named *n,
                           struct uploads_item *item)
{
    AUTO_FREE char *base = n->file->to ? NULL : path_base(n->file->from);
    const char *name = n->file->to ? n->file->to : base;
    int r = name ? uploads_tidy(name, &item->to) : -ENOMEM;

    if (r < 0)
        return r;
    if (!item->to)
        return uploads_refuse(s, n->key, "'%s' is not a name in a work directory", name);
    item->role = n->role ? strdup(n->role) : NULL;
    if (n->role && !item->role)
        return -ENOMEM;
    r = uploads_place(s, n->key, n->file->from, item);
    if (r == 0 && !s->failed)
        r = uploads_check_name(s, n, item);
    if (r == 0 && !s->failed && n->archive && !uploads_can_unpack(item->from))
        r = uploads_refuse(s, n->key, "'%s': YARN unpacks zip, jar, tar, tgz and tar.gz only",
                           n->file->from);
    if (r == 0 && !s->failed && !item->remote)
        r = look_at_local(s, n, item);
    return r;
}

/* `failed` is set aside while one entry is looked at, so that a fault of an earlier one does not
 * keep this one from being checked. */
static int add_named(struct uploads_search *s, const struct named *n)
{
    struct uploads_item item = { .archive = n->archive };
    bool before = s->failed, good;
    int r;

    s->failed = false;
    r = uploads_look_at(s, n, &item);
    good = r == 0 && !s->failed && !is_twin(s->list, &item);
    s->failed |= before;
    if (good)
        return uploads_push(s->list, item);
    uploads_item_done(&item);
    return r;
}

/* A list of the job (`role` NULL) or of a role. */
static int uploads_add_list(struct uploads_search *s, const struct spec_files *l,
                            const struct spec_role *role, bool archives)
{
    const char *what = archives ? "archives" : "files";
    int r = 0;

    for (size_t i = 0; r == 0 && i < l->n; i++) {
        char key[80];
        struct named n = { &l->v[i], key, role ? role->name : NULL, archives };

        if (role)
            snprintf(key, sizeof(key), "roles.%s.%s[%zu]", role->name, what, i);
        else
            snprintf(key, sizeof(key), "%s[%zu]", what, i);
        r = add_named(s, &n);
    }
    return r;
}

static int find_named(struct uploads_search *s)
{
    int r = uploads_add_list(s, &s->spec->files, NULL, false);

    if (r == 0)
        r = uploads_add_list(s, &s->spec->archives, NULL, true);
    for (size_t i = 0; r == 0 && i < s->spec->n_roles; i++) {
        const struct spec_role *role = &s->spec->roles[i];

        if (!uploads_travels(role))
            continue;
        r = uploads_add_list(s, &role->files, role, false);
        if (r == 0)
            r = uploads_add_list(s, &role->archives, role, true);
    }
    return r;
}

/* ---- all of it ---- */

/* Named ones as they stand in the job, then what was found by name. */
static int by_place(const void *a, const void *b)
{
    const struct uploads_item *x = a, *y = b;

    return strcmp(x->to, y->to);
}

static int find_words(struct uploads_search *s)
{
    size_t named = s->list->n;
    int r = 0;

    for (size_t i = 0; r == 0 && i < s->spec->n_roles; i++)
        if (uploads_travels(&s->spec->roles[i]))
            r = uploads_find_words(s, &s->spec->roles[i]);
    if (s->list->n > named)
        qsort(s->list->v + named, s->list->n - named, sizeof(*s->list->v), by_place);
    return r;
}

int uploads_find(const struct spec *spec, const struct uploads_options *o, struct uploads_list *ret,
                 struct spec_faults *f)
{
    AUTO_FREE char *cwd = realpath(o->cwd, NULL);
    struct uploads_search s = { .spec = spec, .options = o, .list = ret, .faults = f, .cwd = cwd };
    int r;

    if (!cwd)
        return errno == ENOMEM ? -ENOMEM : spec_fault(f, 0, NULL, "the directory '%s': %m", o->cwd);
    r = find_named(&s);
    if (r == 0 && spec->venv)
        r = uploads_find_env(&s);
    if (r == 0 && !o->no_ship)
        r = find_words(&s);
    if (r == 0 && !o->no_ship)
        r = uploads_note_left(&s);
    if (r < 0)
        return r;
    return s.failed ? -EINVAL : 0;
}
