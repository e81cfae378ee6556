/* app_logs_test.c - see app_logs.h. The files in testdata/ were written by a NodeManager of
 * Hadoop 3.4.3; they hold the same logs of four applications, in both formats, compressed and not.
 * (The mark of an application in one of them was changed to that of another, so that one id does
 * for all.) */
#include "base/buf.h"
#include "base/path.h"
#include "hadoop/logs/app_log_format.h"
#include "hadoop/logs/app_logs.h"
#include "hadoop/logs/vlong.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

#define DATA YDL_SOURCE_DIR "/src/hadoop/logs/testdata/"
#define APP "application_1794824292826_0004"

static const char *const samples[] = { "tfile-none", "tfile-gz", "ifile-none", "ifile-gz" };
#define CONTAINER "container_1794824292826_000%zu_01_000001" /* by the number of the sample */

/* ---- a log directory on this machine ---- */

struct bench {
    struct loop *loop;
    struct fs_set *set;
    struct conf *conf;
    struct logs *logs;
    char dir[TEST_PATH];
    void (*body)(struct bench *b);
};

static int run(void *arg)
{
    struct bench *b = arg;

    assert_int_equal(fs_set_new(b->loop, NULL, &b->set, NULL), 0);
    b->body(b);
    b->logs = logs_close(b->logs);
    b->set = fs_set_free(b->set);
    return 0;
}

static void with_bench(void (*body)(struct bench *b))
{
    struct bench b = { .body = body };
    char xml[500];

    assert_true(test_dir(b.dir, "logs_test"));
    snprintf(xml, sizeof(xml),
             "<configuration><property><name>yarn.nodemanager.remote-app-log-dir</name>"
             "<value>%s</value></property></configuration>",
             b.dir);
    assert_int_equal(conf_parse("t.xml", xml, strlen(xml), &b.conf, NULL), 0);
    assert_int_equal(loop_new(&b.loop, NULL), 0);
    assert_int_equal(loop_run(b.loop, run, &b, false), 0);
    loop_free(b.loop);
    conf_free(b.conf);
    assert_int_equal(path_remove(b.dir, NULL), 0);
}

/* Reads a sample into `ret`. */
static void sample(const char *name, struct buf *ret)
{
    char path[512];

    snprintf(path, sizeof(path), DATA "%s", name);
    assert_int_equal(path_read(path, ret, NULL), 0);
}

/* A file in one of the places where YARN puts them. */
static void place(struct bench *b, const char *dir, const char *name, const struct buf *bytes)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/alice/%s/" APP, b->dir, dir);
    assert_int_equal(path_mkdirs(path, 0755, NULL), 0);
    snprintf(path, sizeof(path), "%s/alice/%s/" APP "/%s", b->dir, dir, name);
    assert_int_equal(path_write_new(path, bytes->data, bytes->len, 0644, NULL), 0);
}

static int open_logs(struct bench *b, struct err *err)
{
    b->logs = logs_close(b->logs);
    return logs_open(b->set, b->conf, "alice", APP, &b->logs, err);
}

static void read_all(struct logs *l, struct buf *ret)
{
    char p[100];
    ssize_t n;

    buf_reset(ret);
    while ((n = logs_read(l, p, sizeof(p), NULL)) > 0)
        assert_int_equal(buf_add(ret, p, (size_t)n), 0);
    assert_int_equal(n, 0);
}

/* ---- what is there ---- */

static void check_sample(struct bench *b, const char *container)
{
    static const struct {
        const char *name;
        size_t length;
        const char *start;
    } files[] = {
        { "stdout", 8, "one\ntwo\n" },
        { "empty", 0, "" },
        { "worker-0.stderr", 1092, "1\n2\n3" },
        { "prelaunch.err", 0, "" },
        { "prelaunch.out", 70, "Setting up env" },
    };
    AUTO_BUF bytes = { .max = 10 * KIB };
    const struct logs_file *f;
    int n = 0, r;

    while ((r = logs_next(b->logs, &f, NULL)) > 0)
        n++; /* nothing is read: everything is skipped */
    assert_int_equal(r, 0);
    assert_int_equal(n, COUNT_OF(files));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        logs_rewind(b->logs);
        assert_int_equal(logs_find(b->logs, i % 2 ? container : NULL, files[i].name, &f, NULL), 1);
        assert_string_equal(f->node, "host_1");
        assert_string_equal(f->container, container);
        assert_int_equal(f->length, files[i].length);
        read_all(b->logs, &bytes);
        assert_int_equal(bytes.len, files[i].length);
        assert_memory_equal(bytes.data ? bytes.data : (const uint8_t *)"", files[i].start,
                            strlen(files[i].start));
    }
    logs_rewind(b->logs);
    assert_int_equal(logs_find(b->logs, "container_other", "stdout", &f, NULL), 0);
}

static void samples_in_their_places(struct bench *b)
{
    static const char *const dirs[] = { "bucket-logs-tfile/0004", "logs", "bucket-logs-ifile/0004",
                                        "logs-ifile" };

    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        AUTO_BUF bytes = { .max = 10 * KIB };
        char path[512], container[64];

        sample(samples[i], &bytes);
        place(b, dirs[i], "host_1", &bytes);
        place(b, dirs[i], "host_2.tmp", &bytes); /* being written */
        assert_int_equal(open_logs(b, NULL), 0);
        snprintf(container, sizeof(container), CONTAINER, i + 1);
        check_sample(b, container);
        snprintf(path, sizeof(path), "%s/alice", b->dir);
        assert_int_equal(path_remove(path, NULL), 0);
    }
}

static void every_format_gives_the_same_logs(void **state)
{
    (void)state;
    with_bench(samples_in_their_places);
}

static void nothing_there(struct bench *b)
{
    struct err err = ERR_INIT;

    assert_int_equal(open_logs(b, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no aggregated logs of '" APP "'"));
    assert_non_null(strstr(err.hint, "yarn.log-aggregation-enable is not true"));
}

static void no_logs_are_said_with_the_reason(void **state)
{
    (void)state;
    with_bench(nothing_there);
}

static void one_is_broken(struct bench *b)
{
    AUTO_BUF bytes = { .max = 10 * KIB };
    AUTO_BUF junk = { .max = 100 };
    const struct logs_file *f;
    struct err err = ERR_INIT;

    sample("tfile-gz", &bytes);
    assert_int_equal(buf_add_str(&junk, "this is not what anybody wrote here at all"), 0);
    place(b, "logs-tfile", "host_0", &junk);
    place(b, "logs-tfile", "host_1", &bytes);
    assert_int_equal(open_logs(b, NULL), 0);
    assert_int_equal(logs_next(b->logs, &f, &err), -EBADMSG);
    assert_non_null(strstr(err.text, APP "/host_0': this is not a file of aggregated logs"));
    assert_int_equal(logs_find(b->logs, NULL, "stdout", &f, NULL), 1);
    assert_string_equal(f->node, "host_1");
}

static void a_broken_file_does_not_hide_the_others(void **state)
{
    (void)state;
    with_bench(one_is_broken);
}

/* A node that died while it added to its file has left how far the file was good. */
static void half_added(struct bench *b)
{
    AUTO_BUF bytes = { .max = 10 * KIB };
    AUTO_BUF mark = { .max = 100 };
    const struct logs_file *f;

    sample("ifile-none", &bytes);
    assert_int_equal(buf_add_be32(&mark, 6), 0);
    assert_int_equal(buf_add_str(&mark, "host_1"), 0);
    assert_int_equal(buf_add_be64(&mark, bytes.len), 0);
    assert_int_equal(buf_add_str(&bytes, "half a log"), 0);
    place(b, "logs-ifile", "host_1", &bytes);
    assert_int_equal(open_logs(b, NULL), 0);
    assert_int_equal(logs_next(b->logs, &f, NULL), -EBADMSG);
    place(b, "logs-ifile", "host_1-checksum", &mark);
    assert_int_equal(open_logs(b, NULL), 0);
    assert_int_equal(logs_find(b->logs, NULL, "stdout", &f, NULL), 1);
}

static void what_was_complete_before_is_read(void **state)
{
    (void)state;
    with_bench(half_added);
}

/* ---- hostile bytes ---- */

static ssize_t from_memory(void *arg, uint64_t offset, void *p, size_t n, struct err *err)
{
    const struct buf *b = arg;

    (void)err;
    if (n > b->len - offset)
        n = b->len - (size_t)offset;
    memcpy(p, b->data + offset, n);
    return (ssize_t)n;
}

/* Goes through all of it; the first failure or 0. */
static int go_through(struct buf *b, struct err *err)
{
    const struct log_source s = { .pread = from_memory, .arg = b, .length = b->len };
    const struct log_about about = { .app = APP, .end = UINT64_MAX };
    const struct log_format *f = NULL;
    struct log_item item;
    void *file = NULL;
    char p[300];
    ssize_t n;
    int r = log_format_find(&s, &about, &f, err);

    if (r == 0)
        r = f->open(&s, &about, &file, err);
    if (r < 0)
        return r;
    while ((r = f->next(file, &item, err)) > 0) {
        while ((n = f->read(file, p, sizeof(p), err)) > 0)
            ;
        if (n < 0)
            r = (int)n;
        if (n < 0)
            break;
    }
    f->close(file);
    return r;
}

static void a_file_that_was_cut_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        AUTO_BUF b = { .max = 10 * KIB };
        size_t whole;

        sample(samples[i], &b);
        whole = b.len;
        assert_int_equal(go_through(&b, NULL), 0);
        for (size_t cut = 1; cut < whole; cut += cut) {
            b.len = whole - cut;
            assert_int_equal(go_through(&b, NULL), -EBADMSG);
        }
    }
}

/* Puts `to` where `from` is; they are of one length. */
static void patch(struct buf *b, const char *from, size_t n, const char *to)
{
    uint8_t *at = memmem(b->data, b->len, from, n);

    assert_non_null(at);
    memcpy(at, to, n);
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *sample, *from, *to;
        size_t n;
    } rows[] = {
        { "tfile-none", "stdout", "std/ut", 6 },  /* a name that leads elsewhere */
        { "tfile-none", "stdout", "std\nut", 6 }, /* or to the next line */
        { "tfile-none",
          "\x00\x04"
          "1092",
          "\x00\x04"
          "9092",
          6 }, /* longer than there is */
        { "tfile-none",
          "\x00\x04"
          "1092",
          "\x00\x04"
          "-109",
          6 },
        { "tfile-none", "BCFile.index", "BCFile.other", 12 },
        { "tfile-none", "\x04none", "\x04nine", 5 },
        { "ifile-none", "worker-0.stderr", "worker/0.stderr", 15 },
        { "ifile-none", "startIndex", "startOther", 10 },
        { "ifile-none", "\x00\x04none", "\x00\x04nine", 6 },
        { "ifile-none", "logMetas", "logOther", 8 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF b = { .max = 10 * KIB };
        int r;

        sample(rows[i].sample, &b);
        patch(&b, rows[i].from, rows[i].n, rows[i].to);
        r = go_through(&b, NULL);
        assert_true(r == -EBADMSG || r == -EOPNOTSUPP);
    }
}

static void lzo_is_refused_in_words(void **state)
{
    const struct log_codec *c = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(log_codec_find("lzo", 3, &c, &err), -EOPNOTSUPP);
    assert_string_equal(err.text, "these logs are compressed by LZO, which ydl cannot read");
    assert_int_equal(log_codec_find("zstd", 4, &c, &err), -EOPNOTSUPP);
    assert_null(c);
}

static void numbers_have_the_length_they_need(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int64_t value;
    } rows[] = {
        { "\x00", 1, 0 },
        { "\x7f", 1, 127 },
        { "\xe0", 1, -32 },
        { "\xcc\x80", 2, 128 },
        { "\xcb\xdf", 2, -33 },
        { "\xa8\x20\x00", 3, 8192 },
        { "\x90\x20\x00\x00", 4, 0x200000 },
        { "\x83\x7f\xff\xff\xff", 5, INT32_MAX },
        { "\x83\x80\x00\x00\x00", 5, INT32_MIN },
        { "\x84\x01\x00\x00\x00\x00", 6, 0x100000000 },
        { "\x87\x7f\xff\xff\xff\xff\xff\xff\xff", 9, INT64_MAX },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct view v = view_of(rows[i].bytes, rows[i].n);

        assert_int_equal(vlong_more((uint8_t)rows[i].bytes[0]), rows[i].n - 1);
        assert_int_equal(vlong_read(&v), rows[i].value);
        assert_false(v.bad);
        assert_int_equal(v.n, 0);
    }
    for (int i = 0x80; i < 0x83; i++) {
        uint8_t bytes[9] = { (uint8_t)i };
        struct view v = view_of(bytes, sizeof(bytes));

        (void)vlong_read(&v);
        assert_true(v.bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_gives_the_same_logs),
        cmocka_unit_test(no_logs_are_said_with_the_reason),
        cmocka_unit_test(a_broken_file_does_not_hide_the_others),
        cmocka_unit_test(what_was_complete_before_is_read),
        cmocka_unit_test(a_file_that_was_cut_is_refused),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(lzo_is_refused_in_words),
        cmocka_unit_test(numbers_have_the_length_they_need),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
