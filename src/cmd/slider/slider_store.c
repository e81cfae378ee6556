/* slider_store.c - definitions of applications, on this machine or in HDFS; see slider_store.h.
 *
 *     ~/.slider/cluster/NAME/            in HDFS, 0750
 *     $XDG_STATE_HOME/ydl/slider/NAME/   with --on local
 *         metainfo.json, app_config.json, resources.json   as the user wrote them
 *         internal.json     0600: when it was made, options besides, the job of its last start
 *         definition.tar    the package; definition.zip where it was one
 *         agent.tar         what runs its scripts, so that any later ydl can start it
 *         busy              while a command starts it or changes all of it
 *
 * A definition is made under another name and renamed when it is whole. */
#include "cmd/slider/slider_store.h"
#include "base/path.h"
#include "job/protocol.h"
#include "loop/fiber.h"
#include "pyenv/pack.h"
#include "slider/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define DIR_MODE 0750
#define FILE_MODE 0640
#define PRIVATE_MODE 0600
#define CHUNK (256 * KIB)
#define RANDOM_BYTES 8

/* Files that are JSON, and where they are in struct slider_docs. */
static const struct {
    const char *name;
    size_t at;
    uint32_t mode;
} files[] = {
    { "metainfo.json", offsetof(struct slider_docs, metainfo), FILE_MODE },
    { "app_config.json", offsetof(struct slider_docs, config), PRIVATE_MODE },
    { "resources.json", offsetof(struct slider_docs, resources), FILE_MODE },
    { "internal.json", offsetof(struct slider_docs, internal), PRIVATE_MODE },
};

static json_t **doc_at(const struct slider_docs *d, size_t i)
{
    return (json_t **)((char *)(uintptr_t)d + files[i].at);
}

/* ---- where ---- */

static int base_scratch(struct slider *s, struct err *err)
{
    const char *tmp = front_env(s->ask, "TMPDIR");
    bool good = tmp && *tmp && path_trusted(tmp, NULL) == 0;
    AUTO_FREE char *dir = str_printf("%s/ydl-slider-XXXXXX", good ? tmp : "/tmp");
    int r = dir ? fs_set_new(s->x->loop, NULL, &s->set, err) : err_oom(err);

    if (r == 0 && !mkdtemp(dir))
        r = err_sys(err, "make '%s'", dir);
    return r < 0 ? r : fs_find(s->set, dir, FS_ON_LOCAL, &s->fs, &s->base, err);
}

static int base_here(struct slider *s, struct err *err)
{
    AUTO_FREE char *state = NULL;
    int r = fs_set_new(s->x->loop, NULL, &s->set, err);

    if (r == 0)
        r = jobs_state_dir(&state, err);
    if (r == 0) {
        AUTO_FREE char *dir = path_join(state, "slider");

        r = dir ? fs_find(s->set, dir, FS_ON_LOCAL, &s->fs, &s->base, err) : err_oom(err);
    }
    return r;
}

/* --basepath is what ~/.slider is otherwise, --fs another file system than the cluster's own. */
static int base_on_cluster(struct slider *s, struct err *err)
{
    const char *base = slider_value(s, "--basepath"), *fs = slider_value(s, "--fs");
    const char *user = slider_value(s, "--user"); /* of registry: somebody else's */
    struct session *session = NULL;
    AUTO_FREE char *text = NULL;
    int r = job_session(s->x, &session, err);

    if (r == 0)
        r = session_find_user(session, err);
    if (r == 0)
        r = fs_set_new(s->x->loop, session, &s->set, err);
    if (r < 0)
        return r;
    if (fs && base)
        text = str_printf("%s/%s/cluster", fs, base);
    else if (fs || (user && !base))
        text = str_printf("%s/user/%s/.slider/cluster", fs ? fs : "",
                          user ? user : session_user(session));
    else
        text = str_printf("%s/cluster", base ? base : ".slider");
    return text ? fs_find(s->set, text, FS_ON_CLUSTER, &s->fs, &s->base, err) : err_oom(err);
}

int slider_store_open(struct slider *s, struct err *err)
{
    if (s->fs)
        return 0;
    if (s->scratch)
        return base_scratch(s, err);
    return s->local ? base_here(s, err) : base_on_cluster(s, err);
}

void slider_store_close(struct slider *s)
{
    fiber_shield(s->x->loop, true);
    if (s->scratch && s->base)
        (void)path_remove(s->base, NULL);
    s->set = fs_set_free(s->set);
    fiber_shield(s->x->loop, false);
    free(s->base);
    s->base = NULL;
    s->fs = NULL;
}

static char *slider_path_of(const struct slider *s, const char *name, const char *file)
{
    return file ? str_printf("%s/%s/%s", s->base, name, file) : path_join(s->base, name);
}

int slider_store_uri(struct slider *s, const char *name, const char *file, char **ret,
                     struct err *err)
{
    AUTO_FREE char *path = slider_path_of(s, name, file);

    if (!path)
        return err_oom(err);
    if (!fs_is_local(s->fs))
        return fs_uri(s->fs, path, ret, err);
    *ret = take(path);
    return 0;
}

const char *slider_archive(const struct slider_docs *d)
{
    const char *name = json_string_value(json_object_get(d->internal, "definition"));

    return str_eq(name, "definition.zip") ? name : "definition.tar";
}

/* ---- reading ---- */

int slider_store_list(struct slider *s, struct strs *ret, struct err *err)
{
    const struct fs_entry *e = NULL;
    AUTO_FS_LIST *list = NULL;
    int r = slider_store_open(s, err);

    if (r == 0)
        r = fs_list_open(s->fs, s->base, &list, err);
    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        r = 0;
        if (e->type == FS_DIRECTORY && e->name[0] != '.' && strs_add(ret, e->name) < 0)
            r = err_oom(err);
    }
    if (r != -ENOENT)
        return r;
    err_clear(err); /* nobody has made one yet */
    return 0;
}

int slider_store_has(struct slider *s, const char *name, struct err *err)
{
    AUTO_FS_ENTRY found = { 0 };
    AUTO_FREE char *path = NULL;
    int r = slider_store_open(s, err);

    if (r < 0)
        return r;
    path = slider_path_of(s, name, NULL);
    return path ? fs_exists(s->fs, path, &found, err) : err_oom(err);
}

static int slider_read_all(struct slider *s, const char *path, struct buf *ret, struct err *err)
{
    AUTO_FS_READER *in = NULL;
    int r = fs_open(s->fs, path, &in, err);

    while (r == 0) {
        uint8_t *room;
        ssize_t n;

        r = buf_room(ret, 16 * KIB, &room);
        if (r < 0)
            return r == -ENOMEM ? err_oom(err) : err_set(err, r, "'%s' is too large", path);
        n = fs_read(in, room, 16 * KIB, err);
        if (n <= 0)
            return (int)n;
        ret->len += (size_t)n;
    }
    return r;
}

static int read_doc(struct slider *s, const char *name, size_t i, json_t **ret, struct err *err)
{
    AUTO_BUF text = { .max = SLIDER_FILE_MAX };
    AUTO_FREE char *path = slider_path_of(s, name, files[i].name);
    int r = path ? slider_read_all(s, path, &text, err) : err_oom(err);

    return r < 0 ? r : slider_parse(path, &text, &s->excerpt, ret, err);
}

/* Slider itself kept its definitions in the same place. */
static int foreign(struct slider *s, const char *name, struct err *err)
{
    struct err why = *err;

    slider_fail(s, SLIDER_BAD_STATE, SLIDER_NOT_OURS, err,
                "the definition of '%s' was not made by ydl, or is incomplete: %s", name, why.text);
    err_hint(err, "remove it with '%s destroy %s --force' and create it again", s->ask->name, name);
    return SLIDER_NOT_OURS;
}

int slider_store_read(struct slider *s, const char *name, struct slider_docs *ret, struct err *err)
{
    int r = slider_store_has(s, name, err);

    if (r == 0) {
        slider_fail(s, SLIDER_UNKNOWN, -ENOENT, err, "there is no application '%s'", name);
        err_hint(err, "'%s list' lists applications%s", s->ask->name,
                 s->local ? " on this machine" : "; add --on local for those on this machine");
        return -ENOENT;
    }
    r = r < 0 ? r : 0;
    for (size_t i = 0; r == 0 && i < COUNT_OF(files); i++)
        r = read_doc(s, name, i, doc_at(ret, i), err);
    if (r == 0) {
        r = protocol_check(PROTOCOL_SLIDER, json_int_or(ret->internal, "version", 1), err);
        return r < 0 ? err_wrap(err, r, "'%s'", name) : 0;
    }
    return r == -ENOENT ? foreign(s, name, err) : r;
}

/* For commands that go through all of them: one that Slider left behind, or a later version of ydl
 * wrote, must not hide the others. */
int slider_store_skip(struct slider *s, const char *name, int r, struct err *err)
{
    if (r != SLIDER_NOT_OURS && r != CLI_USAGE && r != -EPROTONOSUPPORT)
        return r;
    r = strs_take(&s->notes, str_printf("skipping '%s': %s", name, err->text));
    err_clear(err);
    s->code = 0;
    buf_reset(&s->excerpt);
    return r < 0 ? err_oom(err) : 0;
}

/* ---- writing ---- */

static int slider_store_create(struct slider *s, const char *path, struct fs_writer **ret,
                               struct err *err)
{
    const struct fs_create o = { .overwrite = true, .mode = FILE_MODE };

    return fs_create(s->fs, path, &o, ret, err);
}

static int write_doc(struct slider *s, const char *path, uint32_t mode, const json_t *v,
                     struct err *err)
{
    const struct fs_create how = { .overwrite = true, .mode = mode };
    AUTO_FREE char *text = json_dumps(v, JSON_INDENT(2));
    AUTO_FREE char *line = text ? str_printf("%s\n", text) : NULL;

    return line ? fs_replace(s->fs, path, &how, line, strlen(line), err) : err_oom(err);
}

int slider_store_write(struct slider *s, const char *name, const char *file, const json_t *v,
                       struct err *err)
{
    AUTO_FREE char *path = slider_path_of(s, name, file);
    uint32_t mode = FILE_MODE;

    for (size_t i = 0; i < COUNT_OF(files); i++)
        mode = str_eq(file, files[i].name) ? files[i].mode : mode;
    return path ? write_doc(s, path, mode, v, err) : err_oom(err);
}

static int write_pack(struct slider *s, struct pack_list *list, const char *path, struct err *err)
{
    AUTO_FREE uint8_t *piece = malloc(CHUNK);
    AUTO_FS_WRITER *out = NULL;
    AUTO_PACK *pack = NULL;
    ssize_t n = 0;
    int r = piece ? pack_open(list, &pack, err) : err_oom(err);

    if (r == 0)
        r = slider_store_create(s, path, &out, err);
    while (r == 0 && (n = pack_read(pack, piece, CHUNK, err)) > 0)
        r = fs_write(out, piece, (size_t)n, err);
    if (r == 0 && n < 0)
        r = (int)n;
    return r < 0 ? r : fs_close(take(out), err);
}

static int write_agent(struct slider *s, const char *path, struct err *err)
{
    AUTO_PACK_LIST list = { 0 };
    int r = 0;

    for (const struct slider_file *f = slider_files; r == 0 && f->name; f++) {
        char *data = malloc(f->size + 1);

        if (data)
            memcpy(data, f->data, f->size);
        r = pack_add_data(&list, f->name, data, f->size, false);
    }
    return r < 0 ? err_oom(err) : write_pack(s, &list, path, err);
}

static int slider_copy_file(struct slider *s, int fd, const char *path, struct err *err)
{
    AUTO_FS_WRITER *out = NULL;
    int r = slider_store_create(s, path, &out, err);

    if (r == 0)
        r = fs_copy_in(out, fd, NULL, NULL, err);
    return r < 0 ? r : fs_close(take(out), err);
}

static int write_package(struct slider *s, const struct slider_package *p, const char *path,
                         struct err *err)
{
    static const char *const skip[] = { ".git", "__pycache__", NULL };
    const struct pack_rules rules = { .skip = skip };
    AUTO_PACK_LIST list = { 0 };
    AUTO_CLOSE int fd = p->zip ? open(p->path, O_RDONLY | O_CLOEXEC) : -1;
    int r;

    if (p->zip)
        return fd < 0 ? err_sys(err, "read '%s'", p->path) : slider_copy_file(s, fd, path, err);
    r = pack_add(&list, p->path, "", &rules, err);
    return r < 0 ? r : write_pack(s, &list, path, err);
}

/* What stays of the definition that is there. */
static int keep_package(struct slider *s, const char *from, const char *to, struct err *err)
{
    AUTO_FS_READER *in = NULL;
    AUTO_FS_WRITER *out = NULL;
    const void *p;
    ssize_t n = 0;
    int r = fs_open(s->fs, from, &in, err);

    if (r == 0)
        r = slider_store_create(s, to, &out, err);
    while (r == 0 && (n = fs_read_next(in, &p, 0, err)) > 0)
        r = fs_write(out, p, (size_t)n, err);
    if (r == 0 && n < 0)
        r = (int)n;
    return r < 0 ? r : fs_close(take(out), err);
}

/* All files of a definition into a directory that nobody sees. */
static int slider_fill(struct slider *s, const char *dir, const char *name,
                       const struct slider_docs *d, const struct slider_package *package,
                       struct err *err)
{
    const char *archive = slider_archive(d);
    AUTO_FREE char *to = path_join(dir, archive);
    AUTO_FREE char *from = slider_path_of(s, name, archive);
    AUTO_FREE char *agent = path_join(dir, "agent.tar");
    int r = to && from && agent ? 0 : err_oom(err);

    for (size_t i = 0; r == 0 && i < COUNT_OF(files); i++) {
        AUTO_FREE char *path = path_join(dir, files[i].name);

        r = path ? write_doc(s, path, files[i].mode, *doc_at(d, i), err) : err_oom(err);
    }
    if (r == 0)
        r = package ? write_package(s, package, to, err) : keep_package(s, from, to, err);
    return r < 0 ? r : write_agent(s, agent, err);
}

/* Gives it its name. One that is there makes way, and comes back when that fails.
 *
 * Neither file system renames a directory over one that is not empty. Between the two renames there
 * is no definition of that name. Commands that start or change one hold the lock (`busy`); one that
 * only reads may find nothing. */
static int slider_replace(struct slider *s, const char *tmp, const char *path, struct err *err)
{
    AUTO_FREE char *old = str_printf("%s.old", tmp);
    int r = old ? fs_rename(s->fs, path, old, false, err) : err_oom(err), moved;

    if (r < 0)
        return r;
    moved = fs_rename(s->fs, tmp, path, false, err);
    if (moved < 0)
        (void)fs_rename(s->fs, old, path, false, NULL);
    else
        (void)fs_delete(s->fs, old, true, NULL); /* hidden from here on */
    return moved;
}

static char *temporary(const struct slider *s, const char *name)
{
    uint8_t bytes[RANDOM_BYTES];
    AUTO_FREE char *hex = NULL;

    if (getentropy(bytes, sizeof(bytes)) < 0 || str_hex(bytes, sizeof(bytes), &hex) < 0)
        return NULL;
    return str_printf("%s/.%s.%s", s->base, name, hex);
}

static int slider_store_save(struct slider *s, const char *name, const struct slider_docs *d,
                             const struct slider_package *package, bool is_new, struct err *err)
{
    AUTO_FREE char *tmp = NULL;
    AUTO_FREE char *path = NULL;
    int r = slider_store_open(s, err);

    if (r < 0)
        return r;
    tmp = temporary(s, name);
    path = slider_path_of(s, name, NULL);
    if (!tmp || !path)
        return err_oom(err);
    r = fs_mkdirs(s->fs, s->base, DIR_MODE, true, err);
    if (r == 0)
        r = fs_mkdirs(s->fs, tmp, DIR_MODE, false, err);
    if (r < 0)
        return r;
    r = slider_fill(s, tmp, name, d, package, err);
    if (r == 0)
        r = is_new ? fs_rename(s->fs, tmp, path, false, err) : slider_replace(s, tmp, path, err);
    fiber_shield(s->x->loop, true);
    if (r < 0)
        (void)fs_delete(s->fs, tmp, true, NULL);
    fiber_shield(s->x->loop, false);
    return r < 0 ? err_wrap(err, r, "save the definition of '%s'", name) : 0;
}

int slider_store_put(struct slider *s, const char *name, const struct slider_docs *d,
                     const struct slider_package *package, struct err *err)
{
    int r = slider_store_save(s, name, d, package, true, err);

    return r == -EEXIST ? slider_there_already(s, name, err) : r;
}

int slider_store_replace(struct slider *s, const char *name, const struct slider_docs *d,
                         const struct slider_package *package, struct err *err)
{
    return slider_store_save(s, name, d, package, false, err);
}

int slider_there_already(struct slider *s, const char *name, struct err *err)
{
    slider_fail(s, SLIDER_EXISTS, -EEXIST, err, "application '%s' already exists", name);
    err_hint(err, "start it with '%s start %s', or remove it with '%s destroy %s --force'",
             s->ask->name, name, s->ask->name, name);
    return -EEXIST;
}

int slider_store_remove(struct slider *s, const char *name, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = slider_store_open(s, err);

    if (r < 0)
        return r;
    path = slider_path_of(s, name, NULL);
    return path ? fs_delete(s->fs, path, true, err) : err_oom(err);
}
