/* mxnet_home_test.c - see mxnet_home.h */
#include "base/path.h"
#include "base/str.h"
#include "pyenv/mxnet_home.h"
#include "test.h"

#include <elf.h>
#include <string.h>

#define LIB "lib/python3.11/site-packages/mxnet/libmxnet.so"
#define SAYS "compile with USE_DIST_KVSTORE=1 to use "

static int make(void **state)
{
    char *dir = calloc(1, TEST_PATH);

    *state = dir;
    return dir && test_dir(dir, "mxnet") ? 0 : -1;
}

static int unmake(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

/* A library with one section: its texts, under this name. */
struct library {
    Elf64_Ehdr head;
    Elf64_Shdr sections[3];
    char names[32];
    char texts[64];
};

static struct library library_of(const char *section, const char *text)
{
    struct library l = { 0 };

    memcpy(l.head.e_ident, ELFMAG, SELFMAG);
    l.head.e_ident[EI_CLASS] = ELFCLASS64;
    l.head.e_shoff = offsetof(struct library, sections);
    l.head.e_shentsize = sizeof(Elf64_Shdr);
    l.head.e_shnum = 3;
    l.head.e_shstrndx = 1;
    snprintf(l.names + 1, sizeof(l.names) - 1, "%s", section);
    snprintf(l.texts, sizeof(l.texts), "%s", text);
    l.sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
                                  .sh_offset = offsetof(struct library, names),
                                  .sh_size = sizeof(l.names) };
    l.sections[2] = (Elf64_Shdr){ .sh_name = 1,
                                  .sh_type = SHT_PROGBITS,
                                  .sh_offset = offsetof(struct library, texts),
                                  .sh_size = sizeof(l.texts) };
    return l;
}

static bool lacks(const char *dir, const void *p, size_t n)
{
    AUTO_FREE char *path = path_join(dir, "lib.so");

    assert_non_null(path);
    (void)unlink(path);
    assert_int_equal(path_write_new(path, p, n, 0600, NULL), 0);
    return mxnet_lacks_dist(path);
}

static void one_that_says_it_cannot_is_known(void **state)
{
    struct library without = library_of(".rodata", SAYS), with = library_of(".rodata", "other");
    struct library elsewhere = library_of(".text", SAYS);

    assert_true(lacks(*state, &without, sizeof(without)));
    assert_false(lacks(*state, &with, sizeof(with)));
    assert_false(lacks(*state, &elsewhere, sizeof(elsewhere)));
}

static void what_makes_no_sense_says_nothing(void **state)
{
    struct library l = library_of(".rodata", SAYS), bad;
    char page[4096] = { 0 };
    uint64_t near = sizeof(page) - sizeof(Elf64_Shdr) - 8;

    for (size_t n = 0; n < sizeof(l); n++) /* cut anywhere */
        assert_false(lacks(*state, &l, n));
    bad = l;
    bad.head.e_shoff = UINT64_MAX - 10;
    assert_false(lacks(*state, &bad, sizeof(bad)));
    bad = l;
    bad.sections[2].sh_offset = UINT64_MAX;
    assert_false(lacks(*state, &bad, sizeof(bad)));
    bad = l;
    bad.sections[1].sh_offset = UINT64_MAX;
    assert_false(lacks(*state, &bad, sizeof(bad)));
    memcpy(page, &l, sizeof(l));
    memcpy(page + offsetof(Elf64_Ehdr, e_shoff), &near, sizeof(near)); /* nothing follows a page */
    assert_false(lacks(*state, page, sizeof(page)));
    assert_false(mxnet_lacks_dist("/no/such/file"));
    assert_false(mxnet_lacks_dist("/"));
}

static void the_library_of_a_python_is_found(void **state)
{
    AUTO_FREE char *lib = path_join(*state, LIB);
    AUTO_FREE char *dir = lib ? path_dir(lib) : NULL;
    AUTO_FREE char *bin = path_join(*state, "bin");
    AUTO_FREE char *none = NULL, *found = NULL;

    assert_true(dir && bin);
    assert_int_equal(path_mkdirs(bin, 0700, NULL), 0);
    assert_int_equal(mxnet_find(bin, &none), 0);
    assert_null(none);
    assert_int_equal(path_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(path_write_new(lib, "", 0, 0600, NULL), 0);
    assert_int_equal(mxnet_find(bin, &found), 0);
    assert_non_null(found);
    assert_true(str_ends(found, LIB));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_says_it_cannot_is_known, make, unmake),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_says_nothing, make, unmake),
        cmocka_unit_test_setup_teardown(the_library_of_a_python_is_found, make, unmake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
