/* unzip_test.c - zip archives, whole and damaged; see unzip.h */
#include "pyenv/archive_files_testing.h"
#include "pyenv/unzip.h"

#include <zlib.h>

/* ---- making archives ---- */

struct member {
    const char *name, *text;
    unsigned method;
};

struct zip {
    struct buf all, table;
    unsigned n;
};

static void le(struct buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        assert_int_equal(buf_add_u8(b, (uint8_t)(v >> (8 * i))), 0);
}

static void fields(struct buf *b, const struct member *m, size_t packed)
{
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)m->text, (uInt)strlen(m->text));

    le(b, 20, 2);
    le(b, 0, 2);
    le(b, m->method, 2);
    le(b, 0, 4);
    le(b, crc, 4);
    le(b, (uint32_t)packed, 4);
    le(b, (uint32_t)strlen(m->text), 4);
    le(b, (uint32_t)strlen(m->name), 2);
    le(b, 0, 2);
}

static size_t squeeze(const char *text, uint8_t *out, size_t cap)
{
    z_stream s = { .next_in = (Bytef *)(uintptr_t)text,
                   .avail_in = (uInt)strlen(text),
                   .next_out = out,
                   .avail_out = (uInt)cap };
    size_t n;

    assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    n = s.total_out;
    deflateEnd(&s);
    return n;
}

static void add(struct zip *z, const struct member *m)
{
    uint8_t packed[512];
    size_t n = m->method ? squeeze(m->text, packed, sizeof(packed)) : strlen(m->text);
    size_t at = z->all.len;

    le(&z->all, 0x04034b50, 4);
    fields(&z->all, m, n);
    assert_int_equal(buf_add_str(&z->all, m->name), 0);
    assert_int_equal(buf_add(&z->all, m->method ? (void *)packed : (const void *)m->text, n), 0);
    le(&z->table, 0x02014b50, 4);
    le(&z->table, 20, 2);
    fields(&z->table, m, n);
    le(&z->table, 0, 2);
    le(&z->table, 0, 8);
    le(&z->table, (uint32_t)at, 4);
    assert_int_equal(buf_add_str(&z->table, m->name), 0);
    z->n++;
}

static void end(struct zip *z, const char *comment)
{
    size_t at = z->all.len;

    assert_int_equal(buf_add(&z->all, z->table.data, z->table.len), 0);
    le(&z->all, 0x06054b50, 4);
    le(&z->all, 0, 4);
    le(&z->all, z->n, 2);
    le(&z->all, z->n, 2);
    le(&z->all, (uint32_t)z->table.len, 4);
    le(&z->all, (uint32_t)at, 4);
    le(&z->all, (uint32_t)strlen(comment), 2);
    assert_int_equal(buf_add_str(&z->all, comment), 0);
}

static const struct member members[] = {
    { "metainfo.json", "{\"application\": {\"application\": {\"application\": {}}}}", 8 },
    { "package/scripts/a.py", "print(1)\n", 0 },
    { "empty", "", 0 },
};

/* An archive of all of them as a file; its bytes stay in `z`. */
static char *sample(const char *dir, struct zip *z)
{
    char *path = in(dir, "x.zip");

    *z = (struct zip){ .all = { .max = MIB }, .table = { .max = MIB } };
    for (size_t i = 0; i < COUNT_OF(members); i++)
        add(z, &members[i]);
    end(z, "made by a test");
    assert_int_equal(path_write(path, z->all.data, z->all.len, 0600, NULL), 0);
    return path;
}

/* Without a flush to the disk, as there are many. */
static void rewrite(const char *path, const void *p, size_t n)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0 && path_write_fd(fd, p, n) == 0);
}

static void done(struct zip *z)
{
    buf_done(&z->all);
    buf_done(&z->table);
}

/* ---- reading them ---- */

static void every_member_is_found_and_read(void **state)
{
    struct zip made;
    AUTO_FREE char *path = sample(*state, &made);
    AUTO_UNZIP *z = NULL;
    struct err err = ERR_INIT;
    int r = unzip_open(path, &z, &err);

    done(&made);
    if (r == -ENOMEM)
        return;
    assert_int_equal(r, 0);
    assert_int_equal(unzip_count(z), 3);
    assert_string_equal(unzip_name(z, 1), "package/scripts/a.py");
    assert_true(unzip_has(z, "package") && unzip_has(z, "package/scripts/a.py"));
    assert_false(unzip_has(z, "pack") || unzip_has(z, "package/scripts/b.py"));
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        AUTO_BUF text = { .max = KIB };

        r = unzip_read(z, members[i].name, &text, &err);
        if (r == -ENOMEM || !buf_text(&text))
            return;
        assert_int_equal(r, 0);
        assert_string_equal(buf_text(&text), members[i].text);
    }
}

static void what_is_not_there_or_too_large_is_said(void **state)
{
    struct zip made;
    AUTO_FREE char *path = sample(*state, &made);
    AUTO_BUF small = { .max = 20 };
    AUTO_UNZIP *z = NULL;
    int r = unzip_open(path, &z, NULL);

    done(&made);
    if (r == -ENOMEM)
        return;
    r = unzip_read(z, "nothing", &small, NULL);
    assert_true(r == -ENOENT || r == -ENOMEM);
    r = unzip_read(z, "metainfo.json", &small, NULL);
    assert_true(r == -E2BIG || r == -ENOMEM);
    assert_int_equal(small.len, 0);
    assert_int_equal(unzip_open("/nowhere.zip", &z, NULL), -ENOENT);
}

/* Whatever byte is wrong: the true content or an error, never anything else. */
static void damage_is_noticed_wherever_it_is(void **state)
{
    struct zip made;
    AUTO_FREE char *path = sample(*state, &made);

    for (size_t i = 0; i < made.all.len; i++) {
        AUTO_BUF text = { .max = 4 * KIB };
        AUTO_UNZIP *z = NULL;

        made.all.data[i] ^= 0x41;
        rewrite(path, made.all.data, made.all.len);
        made.all.data[i] ^= 0x41;
        if (unzip_open(path, &z, NULL) < 0 || unzip_read(z, members[0].name, &text, NULL) < 0)
            continue;
        assert_int_equal(text.len, strlen(members[0].text));
        assert_memory_equal(text.data, members[0].text, text.len);
    }
    done(&made);
}

static void a_file_that_is_cut_is_refused(void **state)
{
    struct zip made;
    AUTO_FREE char *path = sample(*state, &made);

    for (size_t n = 0; n + 1 < made.all.len; n += 3) {
        AUTO_UNZIP *z = NULL;

        rewrite(path, made.all.data, n);
        assert_true(unzip_open(path, &z, NULL) < 0);
    }
    done(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_member_is_found_and_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_not_there_or_too_large_is_said, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(damage_is_noticed_wherever_it_is, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_is_refused, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
