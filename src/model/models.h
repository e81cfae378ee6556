/* models.h - a registry of models: a directory on this machine or on HDFS (layout.h).
 *
 * Fibers only. Errors are those of hadoop/fs/fs.h: -EACCES where the user may not read. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "hadoop/fs/fs.h"
#include "model/manifest.h"
#include "model/name.h"

struct models {
    struct loop *loop;
    struct fs_set *set;
    struct fs *fs;
    char *root; /* its path there */
};

/* `place`: a path or an hdfs:// name; NULL: what the configuration says, or the user's own
 * (models_place()). Contacts nobody. All is borrowed but `ret`: models_done(). */
int models_open(struct loop *l, struct fs_set *set, const char *place, struct models *ret,
                struct err *err);
void models_done(struct models *r);

/* Is a place on a cluster (hdfs://…, viewfs://…)? NULL is none. */
bool models_is_remote(const char *place);

/* Where the registry is when nobody says: the key `model.registry` of ~/.config/ydl/config.yaml,
 * then of /etc/ydl/config.yaml, else the directory ydl/models of the user's data
 * (~/.local/share). *ret_from (may be NULL) is the file that said it, or NULL; both are the
 * caller's. Reads local files. */
int models_place(char **ret, char **ret_from, struct err *err);
/* The key `model.cache-limit` of the same files: bytes of each directory in which replicas keep
 * versions from HDFS; 0: it is not there. */
int models_cache_limit(uint64_t *ret, struct err *err);
/* `model.KEY` of one file's text; *ret stays NULL when it is not there. */
int models_config_read(const char *what, const struct view *text, const char *key, char **ret,
                       struct err *err);

/* ROOT/NAME, and what `fmt` says below it. *ret is the caller's. */
int models_path(const struct models *r, const char *name, char **ret, struct err *err,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Numbers of versions, published or not, in rising order. */
struct version_list {
    int64_t *v;
    size_t n;
};
void version_list_done(struct version_list *l);
void version_list_sort(struct version_list *l);
#define AUTO_VERSION_LIST AUTO_DONE(version_list_done) struct version_list

/* The models' names, sorted. No registry there yet: none. */
int models_names(const struct models *r, struct strs *ret, struct err *err);
/* All numbers that were ever given away. -ENOENT with a sentence when there is no such model. */
int models_versions(const struct models *r, const char *name, struct version_list *ret,
                    struct err *err);

/* A file of the registry, to be read. -EBADMSG when somebody put something else in its place: to
 * open a pipe could take for ever. */
int models_open_file(const struct models *r, const char *path, struct fs_reader **ret,
                     struct err *err);
/* All of one, up to the buffer's ceiling: -E2BIG beyond it. */
int models_read_file(const struct models *r, const char *path, struct buf *ret, struct err *err);
/* A version's manifest. Returns 1, or 0 when that version is not published. */
int models_manifest(const struct models *r, const char *name, int64_t version, struct manifest *ret,
                    struct err *err);
/* 1 when that version was removed, which leaves its number taken; else 0. */
int models_removed(const struct models *r, const char *name, int64_t version, struct err *err);
/* The version that is the output of a job, published when it had succeeded (struct model_publish):
 * 1, or 0 when there is none. Only versions made after `since_ms` are looked at, with a day for
 * clocks that differ. */
int models_output(const struct models *r, const char *name, const char *job, int64_t since_ms,
                  struct manifest *ret, struct err *err);
/* The same for what a reference names: a version, what an alias stands for, or the newest that is
 * published. -ENOENT with a sentence that says which there are. */
int models_find(const struct models *r, const struct model_ref *ref, struct manifest *ret,
                struct err *err);
