/* sha256_test.c - the same digits as sha256sum(1); see sha256.h */
#include "base/path.h"
#include "base/sha256.h"
#include "test.h"

#include <string.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define MILLION "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" /* of "a" */

static void pieces_make_one_hash(void **state)
{
    AUTO_SHA256 *s = NULL;
    char text[SHA256_TEXT];

    (void)state;
    assert_int_equal(sha256_new(&s, NULL), 0);
    assert_int_equal(sha256_add(s, "a", 1, NULL), 0);
    assert_int_equal(sha256_add(s, "", 0, NULL), 0);
    assert_int_equal(sha256_add(s, "bc", 2, NULL), 0);
    assert_int_equal(sha256_end(s, text, NULL), 0);
    assert_string_equal(text, ABC);
    assert_int_equal(sha256_begin(s, NULL), 0);
    assert_int_equal(sha256_end(s, text, NULL), 0);
    assert_string_equal(text, EMPTY);
}

static void a_file_is_hashed_to_its_end(void **state)
{
    AUTO_FREE char *million = malloc(1000000);
    AUTO_FREE char *path = NULL;
    char dir[TEST_PATH], text[SHA256_TEXT];

    (void)state;
    assert_true(million && test_dir(dir, "sha256"));
    path = path_join(dir, "file");
    memset(million, 'a', 1000000);
    assert_int_equal(path_write(path, million, 1000000, 0600, NULL), 0);
    assert_int_equal(sha256_file(path, text, NULL), 0);
    assert_string_equal(text, MILLION);
    assert_int_equal(path_write(path, "", 0, 0600, NULL), 0);
    assert_int_equal(sha256_file(path, text, NULL), 0);
    assert_string_equal(text, EMPTY);
    (void)path_remove(dir, NULL);
}

static void what_cannot_be_read_is_a_sentence(void **state)
{
    struct err err = ERR_INIT;
    char text[SHA256_TEXT];

    (void)state;
    assert_int_equal(sha256_file("/nowhere/x", text, &err), -ENOENT);
    assert_string_equal(err.text, "open '/nowhere/x': No such file or directory");
    err = (struct err)ERR_INIT;
    assert_int_equal(sha256_file("/", text, &err), -EISDIR);
    assert_string_equal(err.text, "read '/': Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_one_hash),
        cmocka_unit_test(a_file_is_hashed_to_its_end),
        cmocka_unit_test(what_cannot_be_read_is_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
