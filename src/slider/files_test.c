/* files_test.c - see files.h */
#include "slider/files.h"
#include "test.h"

#include <dirent.h>
#include <string.h>

#define HERE YDL_SOURCE_DIR "/src/slider"
#define NAME_MAX_ 768
#define PATH_MAX_ 1024
#define DEPTH_MAX 8

static const struct slider_file *find(const char *name)
{
    for (const struct slider_file *f = slider_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* A file of the tree has the bytes of its row. */
static void same(const char *path, const struct slider_file *f)
{
    FILE *in = fopen(path, "r");
    size_t at = 0;
    int c;

    assert_non_null(in);
    while ((c = getc(in)) != EOF) {
        assert_true(at < f->size);
        assert_int_equal(c, f->data[at++]);
    }
    assert_int_equal(at, f->size);
    fclose(in);
}

/* Looks at all Python files below a directory; how many there are. */
static size_t walk(const char *below, int depth)
{
    char path[PATH_MAX_], name[NAME_MAX_];
    struct dirent *e;
    size_t n = 0;
    DIR *d;

    assert_true(depth < DEPTH_MAX);
    snprintf(path, sizeof(path), HERE "/%s", below);
    d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        const char *dot = strrchr(e->d_name, '.');

        snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "", e->d_name);
        if (e->d_type == DT_DIR && !dot && e->d_name[0] != '_') {
            n += walk(name, depth + 1);
        } else if (dot && strcmp(dot, ".py") == 0) {
            print_message("%s\n", name);
            assert_non_null(find(name));
            snprintf(path, sizeof(path), HERE "/%s", name);
            same(path, find(name));
            n++;
        }
    }
    closedir(d);
    return n;
}

static void every_python_file_is_there_byte_for_byte(void **state)
{
    size_t n = 0;

    (void)state;
    while (slider_files[n].name)
        n++;
    assert_int_equal(walk("", 0), n);
}

static void the_table_is_sorted_and_its_texts_end(void **state)
{
    (void)state;
    for (const struct slider_file *f = slider_files; f->name; f++) {
        assert_int_equal(f->data[f->size], 0);
        assert_int_equal(strlen((const char *)f->data), f->size);
        if (f[1].name)
            assert_true(strcmp(f->name, f[1].name) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_python_file_is_there_byte_for_byte),
        cmocka_unit_test(the_table_is_sorted_and_its_texts_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
