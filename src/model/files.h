/* files.h - the files of a model before it is in a registry: a file or a directory, on this machine
 * or on HDFS, looked at once and then read with a check that nothing changed since.
 *
 * Only plain files become part of a model. A symbolic link stands for the file that it leads to, as
 * long as that is inside the directory too; everything else (a pipe, a device, a link out of the
 * directory or to a directory) is refused. Fibers only. */
#pragma once
#include "hadoop/fs/fs.h"
#include "model/format/formats.h"
#include "pyenv/pack.h"

struct model_file {
    char *path; /* below the directory; of a single file its name */
    char *from; /* where its bytes are */
    uint64_t size;
    struct pack_stamp stamp; /* of a local one */
    int64_t mtime;           /* of another one */
    bool executable;
};

struct model_files {
    struct fs *fs;
    char *root; /* what was named, absolute */
    bool directory;
    struct model_file *v; /* sorted by path */
    size_t n;
    uint64_t bytes;
};

#define MODEL_FILES_MOST 90000
#define MODEL_DEPTH_MOST 32

/* Looks at `text`, a path of this machine or an hdfs:// name. `ret` is the caller's:
 * model_files_done(). */
int model_files_find(struct fs_set *set, const char *text, struct model_files *ret,
                     struct err *err);
/* The same for a path on a file system. */
int model_files_of(struct fs *fs, const char *path, struct model_files *ret, struct err *err);
void model_files_done(struct model_files *m);

/* Which format they are. */
int model_files_format(const struct model_files *m, struct format_facts *ret, struct err *err);

/* One file from its beginning to its end. */
struct model_reader; /* opaque */
int model_reader_open(const struct model_files *m, const struct model_file *f,
                      struct model_reader **ret, struct err *err);
/* The next bytes, borrowed until the next call; 0 at the end, which is where it was when it was
 * looked at: -ESTALE when it changed. */
ssize_t model_reader_next(struct model_reader *r, const void **ret, struct err *err);
struct model_reader *model_reader_close(struct model_reader *r); /* NULL is fine; always NULL */
AUTO_DEFINE(model_reader, struct model_reader *, model_reader_close);

#define AUTO_MODEL_FILES AUTO_DONE(model_files_done) struct model_files
