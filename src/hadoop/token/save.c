/* save.c - writing a credentials file, version 0; see credentials.h and parse.c for the layout */
#include "base/str.h"
#include "hadoop/token/credentials.h"
#include "hadoop/token/set.h"
#include "hadoop/token/writable.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LENGTHS_MAX ((size_t)25) /* bytes of the lengths in one token, five each */

/* A size that is enough, so that the buffer grows once and leaves no copy of a secret behind. */
static size_t size_of(const struct credentials *c)
{
    size_t n = 16;

    for (size_t i = 0; i < c->n_tokens; i++) {
        const struct token *t = &c->tokens[i].token;

        n += LENGTHS_MAX + strlen(c->tokens[i].alias) + t->id_len + t->password_len +
             strlen(t->kind) + strlen(t->service);
    }
    for (size_t i = 0; i < c->n_secrets; i++)
        n += LENGTHS_MAX + strlen(c->secrets[i].alias) + c->secrets[i].n;
    return n;
}

static int add_token(struct buf *b, const struct entry *e)
{
    int r = writable_add_text(b, e->alias);

    if (r == 0)
        r = writable_add_bytes(b, e->token.id, e->token.id_len);
    if (r == 0)
        r = writable_add_bytes(b, e->token.password, e->token.password_len);
    if (r == 0)
        r = writable_add_text(b, e->token.kind);
    if (r == 0)
        r = writable_add_text(b, e->token.service);
    return r;
}

static int add_secret(struct buf *b, const struct secret *s)
{
    int r = writable_add_text(b, s->alias);

    return r < 0 ? r : writable_add_bytes(b, s->p, s->n);
}

int credentials_write(const struct credentials *c, struct buf *out, struct err *err)
{
    size_t need = size_of(c);
    uint8_t *room;
    int r;

    /* Past the ceiling the exact size may still fit: then the writing itself finds out. */
    r = buf_room(out, need < out->max - out->len ? need : out->max - out->len, &room);
    if (r == 0)
        r = buf_add(out, "HDTS", 5); /* its NUL is the version */
    if (r == 0)
        r = writable_add_vlong(out, (int64_t)c->n_tokens);
    for (size_t i = 0; r == 0 && i < c->n_tokens; i++)
        r = add_token(out, &c->tokens[i]);
    if (r == 0)
        r = writable_add_vlong(out, (int64_t)c->n_secrets);
    for (size_t i = 0; r == 0 && i < c->n_secrets; i++)
        r = add_secret(out, &c->secrets[i]);
    if (r == -E2BIG)
        return err_set(err, r, "credentials are larger than %zu bytes", out->max);
    return r < 0 ? err_oom(err) : 0;
}

static int write_all(int fd, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -1;
        p += w;
        n -= (size_t)w;
    }
    return fsync(fd);
}

/* So that the new name, too, is on disk. A file system that cannot do it does not need it. */
static void sync_dir(const char *path)
{
    AUTO_FREE char *copy = strdup(path);
    AUTO_CLOSE int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0)
        (void)fsync(fd);
}

/* Writes beside the file and moves it there. `temp` ends in XXXXXX and is changed. */
static int replace(const char *path, char *temp, const struct buf *b, struct err *err)
{
    AUTO_CLOSE int fd = mkostemp(temp, O_CLOEXEC); /* mode 0600, and never somebody else's */
    int r;

    if (fd < 0)
        return err_sys(err, "cannot create credentials file '%s'", path);
    if (write_all(fd, b->data, b->len) < 0) {
        r = err_sys(err, "cannot write credentials file '%s'", path);
        (void)unlink(temp);
        return r;
    }
    if (rename(temp, path) < 0) {
        r = err_sys(err, "cannot create credentials file '%s'", path);
        (void)unlink(temp);
        return r;
    }
    sync_dir(path);
    return 0;
}

int credentials_save(const struct credentials *c, const char *path, struct err *err)
{
    AUTO_FREE char *temp = str_printf("%s.XXXXXX", path);
    struct buf b;
    int r;

    if (!temp)
        return err_oom(err);
    buf_init(&b, CREDENTIALS_MAX);
    r = credentials_write(c, &b, err);
    if (r == 0)
        r = replace(path, temp, &b, err);
    wipe_buf(&b);
    return r;
}
