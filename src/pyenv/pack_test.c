/* pack_test.c - archives that come out the same; see pack.h */
#include "pyenv/archive_files_testing.h"
#include "pyenv/pack.h"

static const char *const skip[] = { "__pycache__", NULL };

/* All bytes of the archive, read `step` at a time. */
static int read_all(struct pack_list *l, struct buf *out, size_t step, struct err *err)
{
    AUTO_PACK *k = NULL;
    int r = pack_open(l, &k, err);

    while (r == 0) {
        uint8_t *to;
        ssize_t n;

        assert_int_equal(buf_room(out, step, &to), 0);
        n = pack_read(k, to, step, err);
        if (n <= 0)
            return (int)n;
        out->len += (size_t)n;
    }
    return r;
}

static bool has(const struct pack_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].name, name))
            return true;
    return false;
}

static void an_archive_is_the_same_however_it_is_made(void **state)
{
    AUTO_FREE char *other = in(*state, "other");
    AUTO_FREE char *one = in(*state, "one");
    AUTO_PACK_LIST a = { 0 }, b = { 0 };
    AUTO_BUF x = { .max = MIB }, y = { .max = MIB };

    assert_true(one && other);
    put(one, "b/c.py", "print(1)\n");
    put(one, "a.txt", "text");
    put(one, "b.d", "");
    put(other, "b.d", "");
    put(other, "a.txt", "text");
    put(other, "b/c.py", "print(1)\n");
    age(other, "a.txt");
    assert_int_equal(pack_add(&a, one, "", NULL, NULL), 0);
    assert_int_equal(pack_add(&b, other, "", NULL, NULL), 0);
    assert_int_equal(read_all(&a, &x, 100, NULL), 0);
    assert_int_equal(read_all(&b, &y, 64 * KIB, NULL), 0);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    assert_int_equal(x.len, pack_size(&a));
    assert_int_equal(a.n_files, 3);
    assert_int_equal(a.bytes, 13);
    assert_string_equal((const char *)x.data, "a.txt");
}

static void a_name_given_twice_is_there_once(void **state)
{
    AUTO_FREE char *file = in(*state, "d/x");
    AUTO_FREE char *dir = in(*state, "d");
    AUTO_PACK_LIST l = { 0 };

    put(*state, "d/x", "12345");
    assert_int_equal(pack_add(&l, file, "d/x", NULL, NULL), 0);
    assert_int_equal(pack_add(&l, dir, "d", NULL, NULL), 0);
    assert_int_equal(pack_add(&l, file, "d/x", NULL, NULL), 0);
    assert_int_equal(pack_size(&l), 512 + 512 + 512 + 1024);
    assert_int_equal(l.bytes, 5);
    assert_int_equal(l.n, 2);
}

static void only_links_that_stay_are_followed(void **state)
{
    struct pack_rules rules = { .inside = *state, .skip = skip };
    AUTO_FREE char *dir = in(*state, "d");
    AUTO_PACK_LIST l = { 0 };

    put(*state, "d/x", "1");
    put(*state, "else/y", "1");
    put(*state, "d/__pycache__/z", "1");
    put(*state, "d/env/pyvenv.cfg", "1");
    link_to("/etc/passwd", dir, "out");
    link_to("nowhere", dir, "dangling");
    link_to("..", dir, "loop");
    link_to("../else", dir, "in");
    link_to("x", dir, "also");
    assert_int_equal(pack_add(&l, dir, "d", &rules, NULL), 0);
    assert_int_equal(pack_size(&l) % PACK_BLOCK, 0);
    assert_true(has(&l, "d/x") && has(&l, "d/in/y") && has(&l, "d/also"));
    assert_true(has(&l, "d/loop/else/y") && !has(&l, "d/loop/d/x"));
    assert_false(has(&l, "d/out") || has(&l, "d/dangling") || has(&l, "d/__pycache__"));
    assert_false(has(&l, "d/env") || has(&l, "d/env/pyvenv.cfg"));
}

static void links_within_a_named_directory_stay_links(void **state)
{
    AUTO_FREE char *dir = in(*state, "d");
    AUTO_PACK_LIST l = { 0 };

    put(*state, "d/lib/x.so.1", "1");
    put(*state, "y", "22");
    link_to("lib", dir, "lib64");
    link_to("x.so.1", dir, "lib/x.so");
    link_to("../y", dir, "outside");
    link_to("/no/such/thing", dir, "dangling");
    assert_int_equal(pack_add(&l, dir, "", NULL, NULL), 0);
    assert_true(pack_size(&l) > 0);
    for (size_t i = 0; i < l.n; i++) {
        const struct pack_entry *e = &l.v[i];
        bool is_link =
            str_eq(e->name, "lib64") || str_eq(e->name, "lib/x.so") || str_eq(e->name, "dangling");

        assert_int_equal(e->type == PACK_LINK, is_link);
        if (str_eq(e->name, "outside"))
            assert_int_equal(e->stamp.size, 2);
    }
    assert_int_equal(l.n, 6);
}

static void a_directory_within_itself_is_refused(void **state)
{
    AUTO_FREE char *dir = in(*state, "d/e");
    AUTO_PACK_LIST l = { 0 };

    put(*state, "d/e/x", "1");
    link_to("../..", dir, "up");
    assert_int_equal(pack_add(&l, dir, "", NULL, NULL), -ELOOP);
}

static void what_cannot_be_read_is_told(void **state)
{
    AUTO_FREE char *missing = in(*state, "none");
    AUTO_FREE char *dir = in(*state, "d");
    AUTO_FREE char *fifo = in(*state, "d/fifo");
    struct pack_rules rules = { .inside = *state };
    struct err err = ERR_INIT;
    AUTO_PACK_LIST l = { 0 };

    assert_int_equal(pack_add(&l, missing, "x", NULL, &err), -ENOENT);
    put(*state, "d/x", "1");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(pack_add(&l, dir, "d", NULL, &err), -EINVAL);
    assert_int_equal(pack_add(&l, dir, "d", &rules, &err), 0);
}

static void more_than_the_limit_is_refused(void **state)
{
    struct pack_rules rules = { .most = 10 };
    AUTO_FREE char *dir = in(*state, "d");
    AUTO_PACK_LIST l = { 0 };

    put(*state, "d/x", "123456");
    assert_int_equal(pack_add(&l, dir, "d", &rules, NULL), 0);
    assert_int_equal(pack_add(&l, dir, "d", &rules, NULL), 0); /* the same again is not more */
    put(*state, "d/y", "12345");
    assert_int_equal(pack_add(&l, dir, "d", &rules, NULL), -E2BIG);
}

static void a_file_that_changes_is_noticed(void **state)
{
    AUTO_FREE char *file = in(*state, "x");
    AUTO_PACK_LIST l = { 0 };
    AUTO_BUF out = { .max = MIB };
    struct err err = ERR_INIT;

    put(*state, "x", "one");
    assert_int_equal(pack_add(&l, file, "x", NULL, NULL), 0);
    put(*state, "x", "two");
    assert_int_equal(read_all(&l, &out, 1000, &err), -ESTALE);
    assert_non_null(strstr(err.text, "changed"));
    assert_int_equal(unlink(file), 0);
    assert_int_equal(read_all(&l, &out, 1000, &err), -ESTALE);
}

static void a_long_name_gets_a_pax_header(void **state)
{
    char name[301], record[400];
    struct pack_entry e = { .name = name, .executable = true, .stamp = { .size = 5 } };
    AUTO_BUF out = { .max = MIB };

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(pack_header(&e, &out), 0);
    assert_int_equal(out.len, 3 * PACK_BLOCK);
    assert_int_equal(out.data[156], 'x');
    snprintf(record, sizeof(record), "310 path=%s\n", name);
    assert_memory_equal(out.data + PACK_BLOCK, record, strlen(record));
    assert_int_equal(out.data[2 * PACK_BLOCK + 156], '0');
    assert_memory_equal(out.data + 2 * PACK_BLOCK + 100, "0000755", 8);
}

static void a_record_counts_its_own_digits(void **state)
{
    static const size_t lengths[] = { 101, 991, 990, 989, 988 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        char name[1000] = "";
        struct pack_entry e = { .name = name };
        AUTO_BUF out = { .max = MIB };
        size_t said;

        memset(name, 'n', lengths[i]);
        assert_int_equal(pack_header(&e, &out), 0);
        said = strtoul((const char *)out.data + PACK_BLOCK, NULL, 10);
        assert_int_equal(out.data[PACK_BLOCK + said - 1], '\n');
        assert_int_equal(out.data[PACK_BLOCK + said - 2], 'n');
    }
}

static void a_file_of_8_gigabytes_gets_its_size_in_a_pax_header(void **state)
{
    char name[] = "big";
    struct pack_entry e = { .name = name, .stamp = { .size = UINT64_C(1) << 33 } };
    AUTO_BUF out = { .max = MIB };

    (void)state;
    assert_int_equal(pack_header(&e, &out), 0);
    assert_memory_equal(out.data + PACK_BLOCK, "19 size=8589934592\n", 19);
    e.stamp.size--;
    buf_reset(&out);
    assert_int_equal(pack_header(&e, &out), 0);
    assert_int_equal(out.len, PACK_BLOCK);
    assert_memory_equal(out.data + 124, "77777777777", 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_archive_is_the_same_however_it_is_made, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_name_given_twice_is_there_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(only_links_that_stay_are_followed, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(links_within_a_named_directory_stay_links, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_directory_within_itself_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_told, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(more_than_the_limit_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_that_changes_is_noticed, make_dir, remove_dir),
        cmocka_unit_test(a_long_name_gets_a_pax_header),
        cmocka_unit_test(a_record_counts_its_own_digits),
        cmocka_unit_test(a_file_of_8_gigabytes_gets_its_size_in_a_pax_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
