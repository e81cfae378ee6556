/* kvlog.c - the key-value store's changes, for a master that takes over.
 *
 * A file of records beside the job's key, with a copy in HDFS (log_mirror.c): each is its length,
 * what it is, the length of the key, the key and the value. A change that answers requests is one
 * record with them, so that both are there or neither: 'A' key, then: what happens to the key ('P',
 * 'D', or 0 with an empty key), number of requests, each { task, id, kind of answer, its number },
 * and the value When it has grown too long it begins anew, with everything that is in the store
 * between 'B' and 'W'; so does that of each new master, with its first change. Where the 'W' is
 * missing the files before are still there, and count. A job that never uses the store has no such
 * file, and on one machine nobody takes over. Answers wait for the copy: kvanswer.c. */
#include "base/log.h"
#include "base/path.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_yarn_private.h"

#include <string.h>

#define LOG_MAX_ ((uint64_t)128 * MIB) /* twice what the store can hold */
#define PAUSE_MS 0                     /* whoever was told "ok" counts on it */

#define DONE_BYTES 21 /* of one request */
#define RECORD_MAX (2 * MIB + (size_t)2 * SPEC_TASKS_MAX * DONE_BYTES)

enum {
    OP_CLEAR = 'C', /* of older masters: OP_BEGIN without OP_WHOLE */
    OP_BEGIN = 'B',
    OP_WHOLE = 'W',
    OP_PUT = 'P',
    OP_DELETE = 'D',
    OP_GENERATION = 'G',
    OP_ANSWERED = 'A',
};

/* ---- writing ---- */

static int kvlog_encode(struct buf *out, uint8_t op, const struct kv_word *key,
                        const struct kv_word *value)
{
    size_t n = 5 + (key ? key->n : 0) + (value ? value->n : 0);
    int r = buf_add_be32(out, (uint32_t)n);

    if (r == 0)
        r = buf_add_u8(out, op);
    if (r == 0)
        r = buf_add_be32(out, key ? (uint32_t)key->n : 0);
    if (r == 0 && key)
        r = buf_add(out, key->p, key->n);
    if (r == 0 && value && value->n)
        r = buf_add(out, value->p, value->n);
    return r;
}

static int kvlog_append(struct master *m, uint8_t op, const struct kv_word *key,
                        const struct kv_word *value)
{
    AUTO_BUF record = { .max = 2 * MIB };

    if (kvlog_encode(&record, op, key, value) < 0)
        return -ENOMEM;
    return journal_append(&yarn_of(m)->kv.journal, record.data, record.len);
}

static int encode_done(struct buf *out, const struct kv_done *d)
{
    int r = buf_add_be32(out, d->task);

    if (r == 0)
        r = buf_add_be64(out, d->id);
    if (r == 0)
        r = buf_add_u8(out, d->has_number);
    return r < 0 ? r : buf_add_be64(out, (uint64_t)d->number);
}

/* Who asks over HTTP asks nobody again. */
static size_t count_done(const struct kv_change *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_done; i++)
        n += c->done[i].task != MASTER_API_TASK;
    return n;
}

static int append_answered(struct master *m, const struct kv_change *c)
{
    AUTO_BUF body = { .max = RECORD_MAX };
    AUTO_BUF record = { .max = RECORD_MAX };
    int r = buf_add_u8(&body, !c->key ? 0 : c->value ? OP_PUT : OP_DELETE);

    if (r == 0)
        r = buf_add_be32(&body, (uint32_t)count_done(c));
    for (size_t i = 0; i < c->n_done && r == 0; i++)
        if (c->done[i].task != MASTER_API_TASK)
            r = encode_done(&body, &c->done[i]);
    if (r == 0 && c->value && c->value->n)
        r = buf_add(&body, c->value->p, c->value->n);
    if (r == 0)
        r = kvlog_encode(&record, OP_ANSWERED, c->key, &(struct kv_word){ body.data, body.len });
    return r < 0 ? -ENOMEM : journal_append(&yarn_of(m)->kv.journal, record.data, record.len);
}

static int append_change(struct master *m, const struct kv_change *c)
{
    if (count_done(c) > 0)
        return append_answered(m, c);
    return kvlog_append(m,
                        !c->key    ? OP_GENERATION
                        : c->value ? OP_PUT
                                   : OP_DELETE,
                        c->key, c->value);
}

static int append_one(void *arg, const struct kv_word *key, const struct kv_word *value)
{
    return kvlog_append(arg, OP_PUT, key, value);
}

static int append_done(void *arg, const struct kv_done *done, size_t n)
{
    const struct kv_change c = { .done = done, .n_done = n };

    return count_done(&c) > 0 ? append_answered(arg, &c) : 0;
}

static int kvlog_write_all(struct master *m)
{
    int r = kvlog_append(m, OP_BEGIN, NULL, NULL);

    if (r == 0)
        r = kv_each(m->kv, append_one, m);
    if (r == 0)
        r = kv_each_done(m->kv, append_done, m);
    if (r == 0)
        r = kvlog_append(m, OP_WHOLE, NULL, NULL);
    yarn_of(m)->kv.base = yarn_of(m)->kv.journal.size;
    return r;
}

/* Twice what the store needs is enough; but it is not written anew for a few bytes. */
static bool is_long(const struct master *m)
{
    uint64_t most = yarn_of(m)->kv.max ? yarn_of(m)->kv.max : LOG_MAX_;

    return yarn_of(m)->kv.journal.size > most &&
           yarn_of(m)->kv.journal.size > 2 * yarn_of(m)->kv.base;
}

static int kvlog_begin(struct master *m, struct err *err)
{
    const struct mirror_options o = {
        .parts = { yarn_of(m)->container->jobs, "kv", "log" },
        .journal = &yarn_of(m)->kv.journal,
        .what = "the key-value store",
        .pause = PAUSE_MS,
        .on_copied = kvanswer_send,
    };
    AUTO_FREE char *path = path_join(m->opt->dir->path, "kv.log");
    int r = path ? journal_open(&yarn_of(m)->kv.journal, path, err) : err_oom(err);

    if (r == 0)
        r = mirror_begin(m, &o, &yarn_of(m)->kv.mirror, err);
    if (r == 0 && kvlog_write_all(m) < 0)
        r = err_oom(err);
    return r;
}

/* The log begins with the first change, so a job without a store writes nothing. A request that
 * changed nothing and was answered over HTTP leaves no record: nobody would repeat it. After any
 * failure the log ends for good (`unlogged`), and answers are not held any more. */
void kvlog_change(void *user, const struct kv_change *c)
{
    struct master *m = user;
    struct err err = ERR_INIT;
    bool nothing = !c->key && count_done(c) == 0;
    int r = 0;

    if (yarn_of(m)->kv.unlogged || (nothing && (c->n_done > 0 || !yarn_of(m)->kv.mirror)))
        return;
    if (!yarn_of(m)->kv.mirror)
        r = kvlog_begin(m, &err);
    if (r == 0)
        r = append_change(m, c);
    if (r == 0 && is_long(m)) {
        journal_restart(&yarn_of(m)->kv.journal);
        r = kvlog_write_all(m);
        kvanswer_moved(m);
    }
    if (r == 0)
        return;
    yarn_of(m)->kv.unlogged = true; /* a log with holes is worse than one that ends */
    log_error(LOG_MASTER, "a master after this one will not know the key-value store: %s",
              err.code       ? err.text
              : r == -ENOSPC ? "the disk is full"
                             : "out of memory");
}

/* ---- reading ---- */

/* A change with the requests that it answered; -EINVAL: it is none. */
static int restore_answered(struct kv *k, const struct kv_word *key, struct view *v)
{
    uint8_t op = view_u8(v);
    size_t n = view_be32(v);
    AUTO_FREE struct kv_done *done = NULL;
    struct kv_word value;

    if (v->bad || n > v->n / DONE_BYTES)
        return -EINVAL;
    done = calloc(n ? n : 1, sizeof(*done));
    if (!done)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        done[i].task = view_be32(v);
        done[i].id = view_be64(v);
        done[i].has_number = view_u8(v) != 0;
        done[i].number = (int64_t)view_be64(v);
    }
    value = (struct kv_word){ v->p, v->n };
    return kv_restore(
        k, &(struct kv_change){ op ? key : NULL, op == OP_PUT ? &value : NULL, done, n });
}

struct kv_record {
    uint8_t op;
    struct kv_word key;
    struct view rest;
};

/* The next one; false at the end. Nothing behind a record that is cut short can be told apart. */
static bool kvlog_next_record(struct view *all, struct kv_record *ret)
{
    struct view one = { 0 };

    if (all->n == 0)
        return false;
    one = view_sub(all, view_be32(all));
    ret->op = view_u8(&one);
    ret->key.n = view_be32(&one);
    ret->key.p = view_bytes(&one, ret->key.n);
    ret->rest = one;
    return !all->bad && !one.bad;
}

static bool is_whole(struct view rest)
{
    struct kv_record x;

    while (kvlog_next_record(&rest, &x))
        if (x.op == OP_WHOLE)
            return true;
    return false;
}

static int restore_record(struct kv *k, struct kv_record *x)
{
    const struct kv_word value = { x->rest.p, x->rest.n };

    switch (x->op) {
    case OP_CLEAR:
    case OP_BEGIN:
        kv_clear(k);
        return 0;
    case OP_GENERATION:
        return kv_restore(k, &(struct kv_change){ 0 });
    case OP_ANSWERED:
        return restore_answered(k, &x->key, &x->rest);
    case OP_PUT:
        return kv_restore(k, &(struct kv_change){ .key = &x->key, .value = &value });
    case OP_DELETE:
        return kv_restore(k, &(struct kv_change){ .key = &x->key });
    default:
        return 0; /* of a newer master */
    }
}

/* Stops at a 'B' whose 'W' is missing: a master died while it wrote the store anew, and what the
 * files before said still counts. */
static int kvlog_do_restore(void *arg, const struct buf *part, struct err *err)
{
    struct master *m = arg;
    struct view all = view_of(part->data, part->len);
    struct kv_record x;
    int r = 0;

    while (r != -ENOMEM && kvlog_next_record(&all, &x) && (x.op != OP_BEGIN || is_whole(all)))
        r = restore_record(m->kv, &x);
    return r == -ENOMEM ? err_oom(err) : 0;
}

int kvlog_restore(struct master *m, struct err *err)
{
    const struct parts parts = { yarn_of(m)->container->jobs, "kv", "log" };
    int r = parts_read(m, &parts, kvlog_do_restore, m, err);

    if (r < 0 && r != -ENOMEM && r != -ECANCELED) {
        log_warn(LOG_MASTER, "the key-value store of the master before is lost: %s", err->text);
        err_clear(err);
        r = 0;
    }
    return r;
}

void kvlog_done(struct master *m)
{
    journal_done(&yarn_of(m)->kv.journal);
}
