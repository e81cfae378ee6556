/* kvlog.c - the key-value store's changes, for a master that takes over.
 *
 * A file of records beside the job's key, with a copy in HDFS (mirror.c): each is its length, what
 * it is, the length of the key, the key and the value. When it has grown too long it begins anew,
 * with everything that is in the store; so does that of each new master, with its first change. A
 * job that never uses the store has no such file, and on one machine nobody takes over. */
#include "base/log.h"
#include "base/path.h"
#include "master/master_private.h"

#include <string.h>

#define LOG_MAX_ ((uint64_t)128 * MIB) /* twice what the store can hold */
#define PAUSE_MS 0                     /* whoever was told "ok" counts on it */

enum { OP_CLEAR = 'C', OP_PUT = 'P', OP_DELETE = 'D', OP_GENERATION = 'G' };

/* ---- writing ---- */

static int encode(struct buf *out, uint8_t op, const struct kv_word *key,
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

static int append(struct master *m, uint8_t op, const struct kv_word *key,
                  const struct kv_word *value)
{
    AUTO_BUF record = { .max = 2 * MIB };

    if (encode(&record, op, key, value) < 0)
        return -ENOMEM;
    return journal_append(&m->kv_journal, record.data, record.len);
}

static int append_one(void *arg, const struct kv_word *key, const struct kv_word *value)
{
    return append(arg, OP_PUT, key, value);
}

static int write_all(struct master *m)
{
    int r = append(m, OP_CLEAR, NULL, NULL);

    return r < 0 ? r : kv_each(m->kv, append_one, m);
}

static int begin(struct master *m, struct err *err)
{
    const struct mirror_options o = {
        .parts = { m->opt->container->jobs, "kv", "log" },
        .journal = &m->kv_journal,
        .what = "the key-value store",
        .pause = PAUSE_MS,
    };
    AUTO_FREE char *path = path_join(m->opt->dir->path, "kv.log");
    int r = path ? journal_open(&m->kv_journal, path, err) : err_oom(err);

    if (r == 0)
        r = mirror_begin(m, &o, &m->kv_mirror, err);
    if (r == 0 && write_all(m) < 0)
        r = err_oom(err);
    return r;
}

void kvlog_change(void *user, const struct kv_word *key, const struct kv_word *value)
{
    struct master *m = user;
    struct err err = ERR_INIT;
    uint8_t op = !key ? OP_GENERATION : value ? OP_PUT : OP_DELETE;
    int r = 0;

    if (!m->opt->container || m->kv_unlogged || (!key && !m->kv_mirror))
        return;
    if (!m->kv_mirror)
        r = begin(m, &err);
    if (r == 0)
        r = append(m, op, key, value);
    if (r == 0 && m->kv_journal.size > (m->kv_log_max ? m->kv_log_max : LOG_MAX_)) {
        journal_restart(&m->kv_journal);
        r = write_all(m);
    }
    if (r == 0)
        return;
    m->kv_unlogged = true; /* a log with holes is worse than one that ends */
    log_error(LOG_MASTER, "a master after this one will not know the key-value store: %s",
              err.code       ? err.text
              : r == -ENOSPC ? "the disk is full"
                             : "out of memory");
}

/* ---- reading ---- */

/* Nothing behind a record that is cut short can be told apart. */
static int restore(void *arg, const struct buf *part, struct err *err)
{
    struct master *m = arg;
    struct view all = view_of(part->data, part->len);
    int r = 0;

    while (all.n > 0 && r != -ENOMEM) {
        struct view one = view_sub(&all, view_be32(&all));
        uint8_t op = view_u8(&one);
        struct kv_word key = { .n = view_be32(&one) }, value;

        key.p = view_bytes(&one, key.n);
        value = (struct kv_word){ one.p, one.n };
        if (all.bad || one.bad)
            break;
        if (op == OP_CLEAR)
            kv_clear(m->kv);
        else if (op == OP_GENERATION)
            r = kv_restore(m->kv, NULL, NULL);
        else if (op == OP_PUT || op == OP_DELETE)
            r = kv_restore(m->kv, &key, op == OP_PUT ? &value : NULL);
    }
    return r == -ENOMEM ? err_oom(err) : 0;
}

int kvlog_restore(struct master *m, struct err *err)
{
    const struct parts parts = { m->opt->container->jobs, "kv", "log" };
    int r = parts_read(m, &parts, restore, m, err);

    if (r < 0 && r != -ENOMEM && r != -ECANCELED) {
        log_warn(LOG_MASTER, "the key-value store of the master before is lost: %s", err->text);
        err_clear(err);
        r = 0;
    }
    return r;
}

void kvlog_done(struct master *m)
{
    journal_done(&m->kv_journal);
}
