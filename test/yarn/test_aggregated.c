/* test_aggregated.c - aggregated logs by the library alone, for a test to compare.
 *
 *     ydl-test-aggregated USER APP                    one JSON line for each file: node, container,
 *                                                     name, length, sum (of its bytes, SHA-256)
 *     ydl-test-aggregated USER APP NAME [CONTAINER]   the bytes of all files of that name */
#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"
#include "hadoop/logs/app_logs.h"
#include "hadoop/session/session.h"

#include <openssl/evp.h>
#include <stdio.h>

struct test {
    struct loop *loop;
    char **words;
    int n;
    struct err err;
};

static int print_file(struct logs *logs, const struct logs_file *f, struct err *err)
{
    static uint8_t bytes[100 * 1000];
    uint8_t sum[EVP_MAX_MD_SIZE];
    unsigned n_sum = 0;
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    AUTO_FREE char *hex = NULL;
    uint64_t total = 0;
    ssize_t n;

    EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
    while ((n = logs_read(logs, bytes, sizeof(bytes), err)) > 0) {
        EVP_DigestUpdate(digest, bytes, (size_t)n);
        total += (uint64_t)n;
    }
    EVP_DigestFinal_ex(digest, sum, &n_sum);
    EVP_MD_CTX_free(digest);
    if (n < 0)
        return (int)n;
    if (str_hex(sum, n_sum, &hex) < 0 || total != f->length)
        return err_set(err, -EBADMSG, "'%s' has another length than it should", f->name);
    printf("{\"node\": \"%s\", \"container\": \"%s\", \"name\": \"%s\", \"length\": %llu, "
           "\"mtime\": %lld, \"sum\": \"%s\"}\n",
           f->node, f->container, f->name, (unsigned long long)f->length, (long long)f->mtime, hex);
    return 0;
}

static int print_bytes(struct logs *logs, struct err *err)
{
    char bytes[4096];
    ssize_t n;

    while ((n = logs_read(logs, bytes, sizeof(bytes), err)) > 0)
        fwrite(bytes, 1, (size_t)n, stdout);
    return (int)n;
}

static int show(struct test *t, struct logs *logs)
{
    const struct logs_file *f = NULL;
    int r;

    if (t->n == 2) {
        while ((r = logs_next(logs, &f, &t->err)) > 0)
            if ((r = print_file(logs, f, &t->err)) < 0)
                return r;
        return r;
    }
    while ((r = logs_find(logs, t->n > 3 ? t->words[3] : NULL, t->words[2], &f, &t->err)) > 0)
        if ((r = print_bytes(logs, &t->err)) < 0)
            return r;
    return r;
}

static int run(void *arg)
{
    struct test *t = arg;
    struct session_options options = { 0 };
    AUTO_SESSION *session = NULL;
    AUTO_FS_SET *set = NULL;
    AUTO_LOGS *logs = NULL;
    int r = session_new(t->loop, &options, &session, &t->err);

    if (r == 0)
        r = fs_set_new(t->loop, session, &set, &t->err);
    if (r == 0)
        r = logs_open(set, session_conf(session), t->words[0], t->words[1], &logs, &t->err);
    return r == 0 ? show(t, logs) : r;
}

int main(int argc, char **argv)
{
    struct test t = { .words = argv + 1, .n = argc - 1 };
    int r = argc < 3 ? -EINVAL : loop_new(&t.loop, &t.err);

    if (r == 0)
        r = loop_run(t.loop, run, &t, true);
    if (r < 0)
        fprintf(stderr, "%s\n%s\n", t.err.text, t.err.hint);
    loop_free(t.loop);
    return r < 0;
}
