/* pyenv.h - a Python environment as an archive that works wherever it is unpacked.
 *
 * A venv knows its own place only in the scripts of its bin directory and in the files that
 * activate it; Python itself finds it by pyvenv.cfg. Its interpreter is a link to one outside,
 * which stays that link: a machine that unpacks the archive needs the same interpreter at the same
 * path. A conda environment brings its interpreter along and has its place in many more files,
 * which conda's records name: they get the placeholders of their packages again
 * (pyenv/conda_prefix.h), and are told the new place by an agent, or by the program
 * bin/conda-unpack in the archive. Python, and libraries beside it, are found without that, from
 * where they are.
 *
 * What becomes of the files:
 *   - a script for an interpreter of the environment finds it beside itself;
 *   - bin/activate and activate.fish work out where they are; csh has no way to, and its file is
 *     left out;
 *   - pyvenv.cfg says no more where the environment was made, and RECORD files, by which pip knows
 *     what it installed, have no hashes of scripts, which are others now;
 *   - conda's records do not say from where a package was installed, and its history is empty;
 *   - left out: __pycache__, whose files would not fit the archive's times, and in conda's own
 *     environment `pkgs`, `envs` and `conda-bld`.
 * Two environments with the same packages at different places give the same archive, unless a
 * package says otherwise.
 *
 * Everything blocks on the local disk; any thread, one at a time per value. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "pyenv/pack.h"

enum pyenv_kind { PYENV_NONE, PYENV_VENV, PYENV_CONDA }; /* PYENV_NONE: any other directory */
const char *pyenv_kind_name(enum pyenv_kind kind);       /* "directory", "venv", "conda" */

struct pyenv {
    enum pyenv_kind kind;
    char *dir;            /* absolute */
    struct strs prefixes; /* the paths by which its own files may refer to it */
    char *python;         /* an interpreter outside that it needs, absolute; NULL: none */
};

/* Looks at a directory. `ret` was zeroed and needs pyenv_done() in any case. -ENOTDIR, -ENOENT. */
int pyenv_look(const char *dir, struct pyenv *ret, struct err *err);
void pyenv_done(struct pyenv *e);

#define AUTO_PYENV AUTO_DONE(pyenv_done) struct pyenv /* = { 0 } */

/* Fills `l`, which was zeroed, with all of it as it is to be in the archive. Reads scripts and
 * RECORD files, of a conda environment its records and the files that say where it is, and of the
 * rest only what directories say. */
int pyenv_list(const struct pyenv *e, struct pack_list *l, struct err *err);

/* Warnings for its users: sentences, without a full stop. `l` is the list of it, or
 * NULL, when it is not told about packages whose files are elsewhere. */
int pyenv_notes(const struct pyenv *e, const struct pack_list *l, struct strs *ret);

/* Whether other machines probably lack the interpreter: for example because it is in a home
 * directory and not where systems install it. */
bool pyenv_python_is_private(const char *python);

/* ---- the texts, for pyenv.h's own files and tests ---- */

/* Files that say where a conda environment is get their placeholders again, and are put on the list
 * that is in the archive. Sorts `l`. */
int pyenv_conda(const struct pyenv *e, struct pack_list *l, struct err *err);
/* Names those that cannot be told a place as long as the ones that are usual on YARN. */
int pyenv_conda_notes(const struct pack_list *l, struct strs *ret);

/* These add to `out` what a file is to be: 1, or 0 when it can stay, or -ENOMEM. `text` is hostile,
 * of `n` bytes, and need not end with a NUL. */
int pyenv_script(const struct strs *prefixes, const char *text, size_t n, struct buf *out);
int pyenv_config(const char *text, size_t n, struct buf *out); /* pyvenv.cfg */
int pyenv_record(const char *text, size_t n, struct buf *out); /* RECORD of a package */

/* The files of scripts/, in the binary (cmake/ydl_embed.cmake). */
extern const char pyenv_activate_sh[], pyenv_activate_fish[], pyenv_unpack_py[];
