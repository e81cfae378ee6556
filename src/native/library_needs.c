/* library_needs.c - reads the dynamic sections of ELF files; every number in them is hostile. See
 * library_needs.h.
 *
 *     program headers ──► PT_DYNAMIC ──► DT_STRTAB (an address, which a PT_LOAD leads to the file)
 *                                   └──► DT_NEEDED, DT_RPATH, DT_RUNPATH (places in it) */
#include "native/library_needs.h"
#include "base/path.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADERS_MOST 128
#define DYNAMIC_MOST 2048 /* entries */
#define NAME_SIZE 1024    /* of one text, with its NUL */

struct elf {
    int fd;
    Elf64_Phdr headers[HEADERS_MOST];
    size_t n;
    Elf64_Dyn *dynamic;
    size_t n_dynamic;
    uint64_t texts; /* in the file */
};

/* What is being collected. */
struct needs {
    struct strs *ret;
    struct strs dirs; /* that $ORIGIN has led to */
    bool system, no_cuda;
};

/* ---- one file ---- */

static bool elf_read_at(const struct elf *e, void *to, size_t n, uint64_t at)
{
    return at <= INT64_MAX && pread(e->fd, to, n, (off_t)at) == (ssize_t)n;
}

static const Elf64_Phdr *elf_header(const struct elf *e, uint32_t type)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->headers[i].p_type == type)
            return &e->headers[i];
    return NULL;
}

/* Dynamic entries hold addresses in memory, and the file is not loaded: the segment that covers an
 * address says where it is in the file. */
static bool elf_place(const struct elf *e, uint64_t address, uint64_t *ret)
{
    for (size_t i = 0; i < e->n; i++) {
        const Elf64_Phdr *h = &e->headers[i];

        if (h->p_type != PT_LOAD || address < h->p_vaddr || address - h->p_vaddr >= h->p_filesz)
            continue;
        *ret = h->p_offset + (address - h->p_vaddr);
        return true;
    }
    return false;
}

/* False: it is none, or has no such section. */
static int elf_open(struct elf *e, bool *ret)
{
    const Elf64_Phdr *section;
    Elf64_Ehdr head;

    *ret = false;
    if (!elf_read_at(e, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > HEADERS_MOST ||
        !elf_read_at(e, e->headers, head.e_phnum * sizeof(Elf64_Phdr), head.e_phoff))
        return 0;
    e->n = head.e_phnum;
    section = elf_header(e, PT_DYNAMIC);
    if (!section)
        return 0;
    e->n_dynamic = section->p_filesz / sizeof(Elf64_Dyn);
    if (e->n_dynamic > DYNAMIC_MOST)
        e->n_dynamic = DYNAMIC_MOST;
    e->dynamic = calloc(e->n_dynamic + 1, sizeof(Elf64_Dyn)); /* ends with DT_NULL in any case */
    if (!e->dynamic)
        return -ENOMEM;
    if (!elf_read_at(e, e->dynamic, e->n_dynamic * sizeof(Elf64_Dyn), section->p_offset))
        return 0;
    for (const Elf64_Dyn *d = e->dynamic; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            *ret = elf_place(e, d->d_un.d_ptr, &e->texts);
    return 0;
}

/* The text at a place of the table of texts; false where it is too long for a name. */
static bool elf_text(const struct elf *e, uint64_t at, char to[NAME_SIZE])
{
    ssize_t n = at > INT32_MAX ? -1 : pread(e->fd, to, NAME_SIZE - 1, (off_t)(e->texts + at));

    if (n <= 0)
        return false;
    to[n] = '\0';
    return strlen(to) < (size_t)n || n < NAME_SIZE - 1;
}

/* ---- where ---- */

/* "$ORIGIN/../x.libs" beside `dir`; NULL: it does not begin so, or there is no memory. */
static char *needs_origin(const char *entry, const char *dir)
{
    static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t n = strlen(words[i]);

        if (str_starts(entry, words[i]) && (entry[n] == '/' || !entry[n]))
            return str_printf("%s%s", dir, entry + n);
    }
    return NULL;
}

/* Only entries with $ORIGIN: they lead to what belongs to the same package and can be moved with
 * it. Others name places of the machine where it was built. They are collected over all files, as a
 * library that was found this way looks for its own in the same places. */
static int needs_dirs(struct needs *x, const struct elf *e, const char *dir)
{
    char text[NAME_SIZE];
    int r = 0;

    for (const Elf64_Dyn *d = e->dynamic; r == 0 && d->d_tag != DT_NULL; d++) {
        AUTO_STRS entries = { 0 };

        if ((d->d_tag != DT_RPATH && d->d_tag != DT_RUNPATH) || !elf_text(e, d->d_un.d_val, text))
            continue;
        r = strs_split(&entries, text, ":");
        for (size_t i = 0; i < entries.n && r == 0; i++) {
            AUTO_FREE char *at = needs_origin(entries.v[i], dir);
            AUTO_FREE char *real = at ? realpath(at, NULL) : NULL;

            if (real && !strs_has(&x->dirs, real))
                r = strs_add(&x->dirs, real);
        }
    }
    return r;
}

/* The C library's and the compiler's: they belong to a machine. */
static bool needs_is_machine(const char *name)
{
    static const char *const parts[] = { "libc.",    "libm.",    "libdl.",     "libpthread.",
                                         "librt.",   "libutil.", "libresolv.", "libanl.",
                                         "libnsl.",  "libnss_",  "ld-linux",   "libstdc++.",
                                         "libgcc_s." };

    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (str_starts(name, parts[i]))
            return true;
    return false;
}

/* CUDA's, its libraries' and the driver's. */
static bool needs_is_cuda(const char *name)
{
    static const char *const parts[] = { "libcuda.",   "libcudart.",    "libcudnn",
                                         "libcublas",  "libcufft",      "libcufile",
                                         "libcurand.", "libcusolver",   "libcusparse",
                                         "libcupti.",  "libnccl.",      "libnpp",
                                         "libnvrtc",   "libnvJitLink.", "libnvToolsExt.",
                                         "libnvidia-", "libnvinfer",    "libnvonnxparser." };

    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (str_starts(name, parts[i]))
            return true;
    return false;
}

static char *needs_in(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct stat st;

    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0
               ? take(path)
               : NULL;
}

/* The caller's; NULL: it is left to the other machine. */
static char *needs_find(const struct needs *x, const char *name)
{
    static const char *const system[] = {
        "/usr/local/lib", "/lib/x86_64-linux-gnu",  "/usr/lib/x86_64-linux-gnu", "/lib64",
        "/usr/lib64",     "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"
    };
    char *found = NULL;

    if (!path_is_name(name, strlen(name)) || needs_is_machine(name) ||
        (x->no_cuda && needs_is_cuda(name)))
        return NULL;
    for (size_t i = 0; i < x->dirs.n && !found; i++)
        found = needs_in(x->dirs.v[i], name);
    for (size_t i = 0; i < COUNT_OF(system) && x->system && !found; i++)
        found = needs_in(system[i], name);
    return found;
}

/* ---- all ---- */

static int needs_collect(struct needs *x, const struct elf *e, const char *self)
{
    char name[NAME_SIZE];

    for (const Elf64_Dyn *d = e->dynamic; d->d_tag != DT_NULL; d++) {
        AUTO_FREE char *path = NULL;

        if (d->d_tag != DT_NEEDED || !elf_text(e, d->d_un.d_val, name))
            continue;
        path = needs_find(x, name);
        if (!path || str_eq(path, self) || strs_has(x->ret, path))
            continue;
        if (x->ret->n == LIBRARY_NEEDS_MOST)
            return -E2BIG;
        if (strs_add(x->ret, path) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int needs_look(struct needs *x, const char *path, const char *self, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a pipe */
    AUTO_FREE char *dir = path_dir(path);
    AUTO_FREE struct elf *e = calloc(1, sizeof(*e));
    bool good = false;
    int r;

    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    if (!dir || !e)
        return err_oom(err);
    e->fd = fd;
    r = elf_open(e, &good);
    if (r == 0 && good)
        r = needs_dirs(x, e, dir);
    if (r == 0 && good)
        r = needs_collect(x, e, self);
    free(e->dynamic);
    return r == -E2BIG ? err_set(err, r, "'%s' loads more than %d files", self, LIBRARY_NEEDS_MOST)
           : r < 0     ? err_oom(err)
                       : 0;
}

/* What is found is looked at in its turn. */
static int needs_all(struct needs *x, const char *path, struct err *err)
{
    size_t at = x->ret->n;
    int r = needs_look(x, path, path, err);

    for (; r == 0 && at < x->ret->n; at++)
        r = needs_look(x, x->ret->v[at], path, err);
    return r;
}

int library_needs(const char *path, bool system, struct strs *ret, struct err *err)
{
    struct needs x = { .ret = ret, .system = system };
    int r = needs_all(&x, path, err);

    strs_done(&x.dirs);
    return r;
}

/* ONNX Runtime opens these by itself (dlopen), so no list of needed libraries has them; it looks in
 * its own directory. */
static int needs_add_beside(struct needs *x, const struct find_library *l, const char *path,
                            const char *name, struct err *err)
{
    AUTO_FREE char *dir = path_dir(path);
    AUTO_FREE char *beside = dir ? needs_in(dir, name) : NULL;

    if (!dir)
        return err_oom(err);
    if (!beside) {
        err_set(err, -ENOENT, "%s '%s' cannot use CUDA: there is no '%s' beside it", l->what, path,
                name);
        err_hint(err,
                 "install a %s with CUDA (the Python package '%s-gpu') and name it with "
                 "--backend, or leave --device out",
                 l->what, l->package);
        return -ENOENT;
    }
    if (strs_has(x->ret, beside))
        return 0;
    if (strs_add(x->ret, beside) < 0)
        return err_oom(err);
    return needs_all(x, beside, err);
}

int library_needs_cuda(const struct find_library *l, const char *path, struct strs *ret,
                       struct err *err)
{
    struct needs x = { .ret = ret, .no_cuda = true };
    int r = needs_all(&x, path, err);

    for (const char *const *name = l->cuda; r == 0 && name && *name; name++)
        r = needs_add_beside(&x, l, path, *name, err);
    strs_done(&x.dirs);
    return r;
}
