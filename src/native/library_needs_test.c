/* library_needs_test.c - see library_needs.h: with the smallest files that have what is looked for.
 */
#include "base/path.h"
#include "base/str.h"
#include "native/library_needs.h"
#include "test.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRIES 8
#define TEXTS 256

/* A whole one: all of it is loaded at address 0x1000. */
struct tiny {
    Elf64_Ehdr head;
    Elf64_Phdr headers[2];
    Elf64_Dyn dynamic[ENTRIES];
    char texts[TEXTS];
};

static void tiny_make(struct tiny *t, const char *runpath, const char *const *needed)
{
    size_t at = 1, n = 0;

    *t = (struct tiny){ .head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                               ELFDATA2LSB },
                                  .e_phoff = offsetof(struct tiny, headers),
                                  .e_phentsize = sizeof(Elf64_Phdr),
                                  .e_phnum = 2 } };
    t->headers[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof(*t) };
    t->headers[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
                                  .p_offset = offsetof(struct tiny, dynamic),
                                  .p_filesz = sizeof(t->dynamic) };
    t->dynamic[n++] =
        (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_ptr = 0x1000 + offsetof(struct tiny, texts) };
    if (runpath) {
        memcpy(t->texts + at, runpath, strlen(runpath));
        t->dynamic[n++] = (Elf64_Dyn){ .d_tag = DT_RUNPATH, .d_un.d_val = at };
        at += strlen(runpath) + 1;
    }
    for (; *needed; needed++) {
        memcpy(t->texts + at, *needed, strlen(*needed));
        t->dynamic[n++] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = at };
        at += strlen(*needed) + 1;
    }
}

static void put_file(const char *dir, const char *name, const void *p, size_t n)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *above = path ? path_dir(path) : NULL;

    assert_non_null(above);
    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    assert_int_equal(path_write_unflushed(path, p, n, 0600, NULL), 0);
}

static void what_it_loads_from_its_package_is_found_and_what_that_loads(void **state)
{
    static const char *const first[] = { "liba.so.1", "libc.so.6", "../evil.so", "gone.so", NULL };
    static const char *const second[] = { "libx.so", "libb.so", NULL };
    static const char *const none[] = { NULL };
    char dir[TEST_PATH];
    AUTO_STRS found = { 0 };
    AUTO_FREE char *path = NULL;
    struct tiny t;

    (void)state;
    assert_true(test_dir(dir, "needs"));
    tiny_make(&t, "/usr/none:$ORIGIN/../p.libs:${ORIGIN}", first);
    put_file(dir, "p/libx.so", &t, sizeof(t));
    tiny_make(&t, NULL, second); /* which finds what the first one's path leads to */
    put_file(dir, "p.libs/liba.so.1", &t, sizeof(t));
    tiny_make(&t, NULL, none);
    put_file(dir, "p/libb.so", &t, sizeof(t));
    put_file(dir, "p.libs/libc.so.6", &t, sizeof(t)); /* is the machine's */
    put_file(dir, "evil.so", &t, sizeof(t));
    path = path_join(dir, "p/libx.so");
    assert_non_null(path);
    assert_int_equal(library_needs(path, false, &found, NULL), 0);
    assert_int_equal(found.n, 2);
    assert_true(str_ends(found.v[0], "/p.libs/liba.so.1"));
    assert_true(str_ends(found.v[1], "/p/libb.so"));
    (void)path_remove(dir, NULL);
}

/* They open files by themselves that no list of theirs names. */
static void what_it_opens_for_cuda_is_found_without_cuda_itself(void **state)
{
    static const char *const plugins[] = { "libplug_shared.so", "libplug_cuda.so", NULL };
    static const struct find_library library = { .what = "Plug",
                                                 .package = "plug",
                                                 .cuda = plugins };
    static const char *const first[] = { "libcudart.so.12", NULL };
    static const char *const second[] = { "libz.so.1", "libcublas.so.12", "libcudnn.so.9",
                                          "libx.so",   "libcuda.so.1",    NULL };
    static const char *const none[] = { NULL };
    static const char *const cuda[] = { "libcudart.so.12", "libcublas.so.12", "libcudnn.so.9",
                                        "libcuda.so.1" };
    char dir[TEST_PATH];
    struct err err = ERR_INIT;
    AUTO_STRS found = { 0 };
    AUTO_FREE char *path = NULL;
    struct tiny t;

    (void)state;
    assert_true(test_dir(dir, "needs"));
    path = path_join(dir, "p/libx.so");
    assert_non_null(path);
    tiny_make(&t, NULL, none);
    put_file(dir, "p/libplug_shared.so", &t, sizeof(t));
    put_file(dir, "p.libs/libz.so.1", &t, sizeof(t));
    for (size_t i = 0; i < COUNT_OF(cuda); i++) {
        AUTO_FREE char *name = str_printf("nvidia/lib/%s", cuda[i]);

        put_file(dir, name, &t, sizeof(t));
    }
    tiny_make(&t, "$ORIGIN/../nvidia/lib", first);
    put_file(dir, "p/libx.so", &t, sizeof(t));
    assert_int_equal(library_needs_cuda(&library, path, &found, &err), -ENOENT);
    assert_non_null(strstr(err.text, "there is no 'libplug_cuda.so' beside it"));
    strs_done(&found);
    err_clear(&err);
    tiny_make(&t, "$ORIGIN/../p.libs:$ORIGIN:$ORIGIN/../nvidia/lib", second);
    put_file(dir, "p/libplug_cuda.so", &t, sizeof(t));
    assert_int_equal(strs_add(&found, path), 0); /* a caller that has it already */
    assert_int_equal(library_needs_cuda(&library, path, &found, &err), 0);
    assert_int_equal(found.n, 4);
    assert_true(str_ends(found.v[1], "/p/libplug_shared.so"));
    assert_true(str_ends(found.v[2], "/p/libplug_cuda.so"));
    assert_true(str_ends(found.v[3], "/p.libs/libz.so.1"));
    (void)path_remove(dir, NULL);
}

/* Each byte of the headers and the section set to its most, and the file cut off everywhere. */
static void a_broken_file_needs_nothing_bad(void **state)
{
    static const char *const needed[] = { "liba.so", NULL };
    char dir[TEST_PATH];
    AUTO_FREE char *path = NULL;
    struct tiny t;

    (void)state;
    assert_true(test_dir(dir, "needs"));
    path = path_join(dir, "libx.so");
    assert_non_null(path);
    for (size_t i = 0; i < sizeof(t); i++) {
        AUTO_STRS found = { 0 };

        tiny_make(&t, "$ORIGIN", needed);
        memset((char *)&t + i, 0xff, sizeof(t) - i < 8 ? sizeof(t) - i : 8);
        put_file(dir, "libx.so", &t, i % 2 ? sizeof(t) : i);
        assert_int_equal(library_needs(path, true, &found, NULL), 0);
        assert_int_equal(found.n, 0);
    }
    (void)path_remove(dir, NULL);
}

/* Neither can travel, and a pipe would be waited for without end. */
static void what_is_no_file_is_not_needed(void **state)
{
    static const char *const needed[] = { "libpipe.so", "libdir.so", NULL };
    char dir[TEST_PATH];
    AUTO_STRS found = { 0 };
    AUTO_FREE char *path = NULL, *pipe = NULL, *below = NULL;
    struct tiny t;

    (void)state;
    assert_true(test_dir(dir, "needs"));
    path = path_join(dir, "libx.so");
    pipe = path_join(dir, "libpipe.so");
    below = path_join(dir, "libdir.so");
    assert_true(path && pipe && below);
    tiny_make(&t, "$ORIGIN", needed);
    put_file(dir, "libx.so", &t, sizeof(t));
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(library_needs(path, false, &found, NULL), 0);
    assert_int_equal(found.n, 0);
    assert_int_equal(library_needs(pipe, false, &found, NULL), 0);
    (void)path_remove(dir, NULL);
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
    struct err err = ERR_INIT;
    AUTO_STRS found = { 0 };

    (void)state;
    assert_int_equal(library_needs("/none/libx.so", false, &found, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/none/libx.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_loads_from_its_package_is_found_and_what_that_loads),
        cmocka_unit_test(what_it_opens_for_cuda_is_found_without_cuda_itself),
        cmocka_unit_test(a_broken_file_needs_nothing_bad),
        cmocka_unit_test(what_is_no_file_is_not_needed),
        cmocka_unit_test(a_file_that_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
