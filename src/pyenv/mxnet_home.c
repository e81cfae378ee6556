/* mxnet_home.c - maps the library and searches only its section of constant texts for the
 * sentence; an ELF file that is damaged or of another kind counts as one that cannot be judged.
 * See mxnet_home.h. */
#include "pyenv/mxnet_home.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SAYS "compile with USE_DIST_KVSTORE=1 to use"

/* A file in memory. */
struct image {
    const unsigned char *p;
    size_t n;
};

int mxnet_find(const char *bin, char **ret)
{
    static const char *const patterns[] = { "../lib/python3*/site-packages/mxnet/libmxnet.so",
                                            "../lib/python3*/dist-packages/mxnet/libmxnet.so",
                                            "../lib/python3/dist-packages/mxnet/libmxnet.so" };

    *ret = NULL;
    for (size_t i = 0; i < COUNT_OF(patterns) && !*ret; i++) {
        AUTO_FREE char *pattern = path_join(bin, patterns[i]);
        glob_t found = { 0 };
        int r = pattern ? glob(pattern, 0, NULL, &found) : GLOB_NOSPACE;

        if (r == 0)
            *ret = strdup(found.gl_pathv[0]);
        globfree(&found);
        if (r == GLOB_NOSPACE || (r == 0 && !*ret))
            return -ENOMEM;
    }
    return 0;
}

/* `size` bytes at `at`, when they are all inside; they need not be aligned. */
static bool mxnet_read_at(const struct image *f, uint64_t at, void *to, size_t size)
{
    if (at > f->n || f->n - at < size)
        return false;
    memcpy(to, f->p + at, size);
    return true;
}

static bool mxnet_is_named(const struct image *f, const Elf64_Shdr *names, uint32_t at,
                           const char *name)
{
    char text[16];
    size_t n = strlen(name) + 1;

    return n <= sizeof(text) && at < names->sh_size &&
           mxnet_read_at(f, names->sh_offset + at, text, n) && memcmp(text, name, n) == 0;
}

/* The texts of a library, which are a small part of it. */
static bool find_texts(const struct image *f, struct image *ret)
{
    Elf64_Ehdr head;
    Elf64_Shdr names, section;

    if (!mxnet_read_at(f, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(section) ||
        !mxnet_read_at(f, head.e_shoff + (uint64_t)head.e_shstrndx * sizeof(names), &names,
                       sizeof(names)))
        return false;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        if (!mxnet_read_at(f, head.e_shoff + (uint64_t)i * sizeof(section), &section,
                           sizeof(section)))
            return false;
        if (!mxnet_is_named(f, &names, section.sh_name, ".rodata") || section.sh_type == SHT_NOBITS)
            continue;
        if (section.sh_offset > f->n || f->n - section.sh_offset < section.sh_size)
            return false;
        *ret = (struct image){ f->p + section.sh_offset, section.sh_size };
        return true;
    }
    return false;
}

bool mxnet_lacks_dist(const char *library)
{
    AUTO_CLOSE int fd = open(library, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct image file, texts;
    struct stat st;
    bool lacks;
    void *p;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return false;
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return false;
    file = (struct image){ p, (size_t)st.st_size };
    lacks = find_texts(&file, &texts) && memmem(texts.p, texts.n, SAYS, strlen(SAYS));
    (void)munmap(p, (size_t)st.st_size);
    return lacks;
}
