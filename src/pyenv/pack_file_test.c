/* pack_file_test.c - archives as files; see pack_file.h */
#include "pyenv/archive_files_testing.h"
#include "pyenv/pack_file.h"

#include <sys/mman.h>
#include <zlib.h>

/* The file that becomes of a directory. */
static int make(const char *dir, int level, struct buf *ret, char hash[SHA256_TEXT])
{
    AUTO_PACK_LIST l = { 0 };
    AUTO_PACK_FILE *f = NULL;
    AUTO_CLOSE int fd = memfd_create("pack", MFD_CLOEXEC);
    uint8_t *to;
    int r;

    assert_true(fd >= 0);
    r = pack_add(&l, dir, "", NULL, NULL);
    if (r == 0)
        r = pack_file_new(&l, fd, level, &f, NULL);
    while (r == 0 && (r = pack_file_some(f, NULL)) > 0)
        r = 0;
    if (r == 0)
        r = pack_file_hash(f, hash, NULL);
    if (r < 0)
        return r;
    assert_int_equal(pack_file_done(f), pack_size(&l));
    assert_int_equal(buf_room(ret, pack_file_written(f), &to), 0);
    assert_int_equal(pread(fd, to, pack_file_written(f), 0), pack_file_written(f));
    ret->len = pack_file_written(f);
    return 0;
}

static void a_compressed_archive_holds_the_plain_one(void **state)
{
    AUTO_BUF plain = { .max = MIB }, packed = { .max = MIB };
    AUTO_FREE char *out = calloc(1, MIB);
    char hash[2][SHA256_TEXT];
    z_stream z = { 0 };

    put(*state, "a", "text");
    put(*state, "b/c", "more text");
    assert_int_equal(make(*state, 0, &plain, hash[0]), 0);
    assert_int_equal(make(*state, 9, &packed, hash[1]), 0);
    assert_string_equal(hash[0], hash[1]);
    assert_true(out && packed.len < plain.len);
    z.next_in = packed.data;
    z.avail_in = (uInt)packed.len;
    z.next_out = (Bytef *)out;
    z.avail_out = MIB;
    assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, plain.len);
    assert_memory_equal(out, plain.data, plain.len);
    (void)inflateEnd(&z);
}

static void the_same_content_gives_the_same_file(void **state)
{
    AUTO_BUF one = { .max = MIB }, two = { .max = MIB };
    AUTO_FREE char *a = in(*state, "a"), *b = in(*state, "b");
    char hash[2][SHA256_TEXT];

    put(a, "x/y", "1");
    put(a, "z", "22");
    put(b, "z", "22");
    put(b, "x/y", "1");
    age(b, "z");
    assert_int_equal(make(a, 6, &one, hash[0]), 0);
    assert_int_equal(make(b, 6, &two, hash[1]), 0);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.data, two.data, one.len);
    assert_string_equal(hash[0], hash[1]);
    put(b, "z", "23");
    buf_reset(&two);
    assert_int_equal(make(b, 6, &two, hash[1]), 0);
    assert_string_not_equal(hash[0], hash[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_compressed_archive_holds_the_plain_one, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(the_same_content_gives_the_same_file, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
