/* generations.c - a record is written below .staging and appears by a rename. See generations.h. */
#include "model/generations.h"
#include "base/path.h"
#include "base/str.h"
#include "loop/loop.h"
#include "model/store.h"

#include <string.h>

#define END ".json"

static int64_t generations_number(const char *name)
{
    AUTO_FREE char *digits = NULL;
    int64_t n = 0;

    if (!str_ends(name, END))
        return 0;
    digits = strndup(name, strlen(name) - strlen(END));
    return digits && str_to_i64(digits, 1, INT64_MAX - 1, &n) == 0 && *digits != '+' ? n : 0;
}

int generations_read(const struct models *r, const char *path, json_t **ret, struct err *err)
{
    AUTO_BUF text = { .max = RECORD_MOST };
    int x = models_read_file(r, path, &text, err);

    if (x == 0)
        x = json_parse(path, text.len ? text.data : (const uint8_t *)"", text.len, ret, err);
    if (x == 0 && !json_is_object(*ret)) {
        json_decref(take(*ret));
        x = -EINVAL;
    }
    return x == -EINVAL ? err_set(err, -EBADMSG, "'%s' is damaged", path) : x;
}

/* A record that somebody adds between the list and the read is seen next time: who writes the one
 * after the generation that was read here is told then. */
int generations_newest(const struct models *r, const char *dir, int64_t *ret_generation,
                       json_t **ret, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int64_t newest = 0;
    int x = fs_list_open(r->fs, dir, &list, err);

    *ret = NULL;
    *ret_generation = 0;
    while (x == 0 && (x = fs_list_next(list, &e, err)) > 0) {
        int64_t n = generations_number(e->name);

        newest = n > newest ? n : newest;
        x = 0;
    }
    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    if (x < 0 || newest == 0)
        return x;
    path = str_printf("%s/%lld" END, dir, (long long)newest);
    x = path ? generations_read(r, path, ret, err) : err_oom(err);
    if (x == 0)
        *ret_generation = newest;
    return x;
}

/* ---- adding ---- */

static int generations_mkdir(const struct models *r, const char *dir, struct err *err)
{
    AUTO_FREE char *above = path_dir(dir);
    int x = above ? model_store_mkdir(r, above, err) : err_oom(err);

    return x < 0 ? x : model_store_mkdir(r, dir, err);
}

static int generations_sign(const struct models *r, const char *tmp, int64_t g, json_t *doc,
                            struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int x = fs_stat(r->fs, tmp, &e, err);

    if (x < 0)
        return x;
    if (json_object_set_new(doc, "generation", json_integer(g)) < 0 ||
        json_object_set_new(doc, "at_ms", json_integer(loop_wall())) < 0 ||
        json_object_set_new(doc, "by", json_text(e.owner)) < 0)
        return err_oom(err);
    return 0;
}

/* In a directory of its own below .staging, which also says who we are there.
 *
 * The owner of that directory is who we are to the file system, which is what `by` is to say: a
 * name that a client gives itself could be anybody's. */
static int generations_write(const struct models *r, const char *tmp, const char *path, int64_t g,
                             json_t *doc, struct err *err)
{
    AUTO_FREE char *file = path_join(tmp, "record");
    char *text = NULL;
    int x = file ? fs_mkdirs(r->fs, tmp, 0700, false, err) : err_oom(err);

    if (x == 0)
        x = generations_sign(r, tmp, g, doc, err);
    if (x == 0) {
        text = json_dumps(doc, JSON_COMPACT);
        x = !text                         ? err_oom(err)
            : strlen(text) >= RECORD_MOST ? err_set(err, -E2BIG, "the record is too large")
                                          : model_store_put(r, file, text, err);
        free(text);
    }
    return x < 0 ? x : fs_rename(r->fs, file, path, false, err);
}

int generations_add(const struct models *r, const char *dir, int64_t g, json_t *doc,
                    struct err *err)
{
    AUTO_FREE char *path = str_printf("%s/%lld" END, dir, (long long)g);
    AUTO_FREE char *tmp = NULL;
    int x = path ? model_store_begin(r, err) : err_oom(err);

    if (x == 0)
        x = generations_mkdir(r, dir, err);
    if (x == 0)
        x = model_store_staging(r, &tmp, err);
    if (x < 0)
        return x;
    x = generations_write(r, tmp, path, g, doc, err);
    (void)model_store_remove(r, tmp, NULL);
    return x < 0 ? x : model_store_sync_dir(r->fs, dir, err);
}
