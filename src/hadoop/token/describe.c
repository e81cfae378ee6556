/* describe.c - a token in words; see ident.h */
#include "base/buf.h"
#include "base/str.h"
#include "hadoop/token/ident.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define LINE_MAX_ (4 * KIB)

/* "2026-03-01 12:00:00 UTC" */
static void add_time(struct buf *b, const char *what, int64_t ms)
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    char text[64];

    if (ms <= 0 || !gmtime_r(&t, &tm) || !strftime(text, sizeof(text), "%F %T UTC", &tm))
        return;
    (void)buf_printf(b, ", %s %s", what, text);
}

/* Texts come from a server or a file: nothing in them may move a terminal's cursor. */
static void describe_add_text(struct buf *b, const char *what, const char *text)
{
    char clean[256];

    if (!text || !*text)
        return;
    str_clean(clean, sizeof(clean), text);
    (void)buf_printf(b, ", %s %s", what, clean);
}

static void add_attempt(struct buf *b, const struct ident *i)
{
    (void)buf_printf(b, ", appattempt_%" PRId64 "_%04d_%06d", i->cluster, i->application,
                     i->attempt);
}

/* container_e02_…: the ResourceManager's epoch is in the upper bits of the number. */
static void add_container(struct buf *b, const struct ident *i)
{
    int64_t epoch = i->container >> 40, number = i->container & 0xffffffffff;

    (void)buf_printf(b, ", container_");
    if (epoch)
        (void)buf_printf(b, "e%02" PRId64 "_", epoch);
    (void)buf_printf(b, "%" PRId64 "_%04d_%02d_%06" PRId64, i->cluster, i->application, i->attempt,
                     number);
}

static void add_ident(struct buf *b, const struct ident *i)
{
    if (i->type == IDENT_UNKNOWN)
        return;
    if (i->type == IDENT_ATTEMPT || i->type == IDENT_NODE || i->type == IDENT_CLIENT)
        add_attempt(b, i);
    if (i->type == IDENT_CONTAINER)
        add_container(b, i);
    describe_add_text(b, "owner", i->owner);
    describe_add_text(b, "by", i->real_user);
    describe_add_text(b, "renewer", i->renewer);
    describe_add_text(b, "node", i->node);
    if (i->type == IDENT_BLOCK)
        (void)buf_printf(b, ", block %" PRId64, i->block);
    describe_add_text(b, "pool", i->pool);
    if (i->type == IDENT_DELEGATION)
        (void)buf_printf(b, ", number %d", i->sequence);
    if (i->type != IDENT_CLIENT)
        (void)buf_printf(b, ", key %d", i->key_id);
    add_time(b, "issued", i->issued);
    add_time(b, "ends", i->expires);
}

int token_describe(const struct token *t, char **ret)
{
    AUTO_IDENT i = { 0 };
    char kind[128], service[256];
    AUTO_BUF b = { .max = LINE_MAX_ };
    int r;

    str_clean(kind, sizeof(kind), t->kind ? t->kind : "");
    str_clean(service, sizeof(service), t->service ? t->service : "");
    /* The buffer is larger than all parts together, so a failure here is one of memory. */
    r = buf_printf(&b, "%s%s%s", kind, *service ? " for " : "", service);
    if (r == 0 && ident_parse(kind, t->id, t->id_len, &i, NULL) < 0)
        (void)buf_printf(&b, ", an identifier of %zu bytes that cannot be read", t->id_len);
    else
        add_ident(&b, &i);
    *ret = r == 0 && buf_text(&b) ? strdup(buf_text(&b)) : NULL;
    return *ret ? 0 : -ENOMEM;
}
