/* uploads.h - what a job needs of this machine's files on the cluster.
 *
 * Named: `files:` and `archives:` of the job and of its roles. Each travels for itself and appears
 * under its name in the container: a file as it is, a directory as an archive that ydl makes and
 * YARN unpacks, an archive unpacked by YARN; what is on HDFS already is used where it is.
 *
 * The environment: what `venv:` names appears as UPLOADS_ENV. A directory is packed on its way
 * (pyenv.h); an archive of one, here or on HDFS, is unpacked by YARN.
 *
 * Found: for every role that runs on the cluster,
 *   - words of the command that name a file or a directory below the working directory, also behind
 *     `--option=`, and within the text of `sh -c TEXT`;
 *   - Python modules beside the script (the first word that is a file, and every word that is a
 *     Python file; the working directory itself for `python -m`): *.py, *.so, and packages, which
 *     are directories with an __init__.py.
 * Absolute paths, words that leave the working directory by '..' or by a symbolic link, and the
 * working directory itself are left alone; so are files that a named directory or archive brings
 * already. .git,
 * __pycache__, ydl-out and Python environments are not gone into. What is found appears at the
 * same relative path; it travels in one archive, so that its names can be anything, and that has
 * the name UPLOADS_BUNDLE in the container, where the agent spreads it; an existing name, such as a
 * file of one role only, is kept.
 *
 * Blocks on the local disk. Any thread. */
#pragma once
#include "job/spec/spec.h"
#include "pyenv/pack.h"

#define UPLOADS_BUNDLE "ydl-ship"
#define UPLOADS_ENV "ydl-env"    /* the Python environment, which agents activate */
#define UPLOADS_MOST (256 * MIB) /* of what is found */

struct uploads_item {
    char *from;  /* absolute path here, or the URI of something on HDFS */
    char *to;    /* relative path in the container, no slash at its end */
    char *role;  /* NULL: for all */
    bool remote; /* `from` is a URI: its size is not known here */
    bool archive;
    bool directory;
    bool found;
    uint64_t size;          /* bytes, of all that is in it */
    uint64_t n_files;       /* in a directory */
    struct pack_list *tree; /* of an environment: its files; else NULL */
};

struct uploads_list {
    struct uploads_item *v;
    size_t n;
    struct pack_list bundle; /* what is found, file by file */
    struct strs notes;       /* what the user should know: sentences */
};

struct uploads_options {
    const char *cwd; /* absolute */
    bool no_ship;    /* look for nothing: named things only */
    uint64_t most;   /* bytes of what is found; 0: UPLOADS_MOST */
};

/* Fills `ret`, which was zeroed and needs uploads_done() in any case, and adds to `f` what cannot
 * go: what is not there or cannot be read, a name that YARN cannot make, an archive that it cannot
 * unpack, too much found. 0, -EINVAL when there was a fault, -ENOMEM. `s` is complete and checked
 * (framework_complete, spec_check). */
int uploads_find(const struct spec *s, const struct uploads_options *o, struct uploads_list *ret,
                 struct spec_faults *f);
void uploads_done(struct uploads_list *l);

#define AUTO_UPLOADS AUTO_DONE(uploads_done) struct uploads_list /* = { 0 } */

/* Adds a file of this machine by hand, as ydl-node. All copied. */
int uploads_add(struct uploads_list *l, const char *from, const char *to, struct err *err);

/* A few lines for `plan`; nothing when the list is empty. */
int uploads_print(const struct uploads_list *l, struct buf *out);
/* [{from, to, role, remote, archive, directory, found, size, files}] *ret is the caller's. */
int uploads_json(const struct uploads_list *l, json_t **ret, struct err *err);
