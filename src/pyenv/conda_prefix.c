/* conda_prefix.c - paths in texts and in programs.
 *
 *     |<---------------- WINDOW ---------------->|
 *     |<-- strings that begin here -->|<-OVERLAP->|
 *
 * The next window begins behind the last string of this one. A string is changed only when its end
 * is in the window too. None is longer than the overlap, except in a file that is no program. See
 * conda_prefix.h. */
#include "pyenv/conda_prefix.h"
#include "base/array.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#define WINDOW MIB          /* of a program is looked at in one go … */
#define OVERLAP (128 * KIB) /* … with so much of what follows: the longest string */
#define PATCHES_MAX 1000000

void conda_prefix_patches_done(struct conda_prefix_patches *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].bytes);
    free(p->v);
    *p = (struct conda_prefix_patches){ 0 };
}

/* ---- finding ---- */

/* Whether a path that ends before `p` is whole there. */
static bool ends(const char *p, const char *end)
{
    return p == end || !(isalnum((unsigned char)*p) || strchr("._-", *p)) || *p == '\0';
}

/* Goes through a text from one path to the next. */
struct finder {
    const struct strs *from;
    const char *end;
    const char *next[CONDA_PREFIX_FROM_MAX]; /* of each of them; at `end`: no more */
};

static void seek(struct finder *f, size_t i, const char *p)
{
    size_t n = strlen(f->from->v[i]);

    while ((p = memmem(p, (size_t)(f->end - p), f->from->v[i], n)) && !ends(p + n, f->end))
        p++;
    f->next[i] = p ? p : f->end;
}

static struct finder finder_of(const struct strs *from, const char *p, const char *end)
{
    struct finder f = { .from = from, .end = end };

    for (size_t i = 0; i < from->n && i < CONDA_PREFIX_FROM_MAX; i++)
        seek(&f, i, p);
    return f;
}

/* The first of the paths from `p` on, and of several that begin there the longest; NULL: none. */
static const char *conda_prefix_find(struct finder *f, const char *p, size_t *ret_n)
{
    const char *best = f->end;

    *ret_n = 0;
    for (size_t i = 0; i < f->from->n && i < CONDA_PREFIX_FROM_MAX; i++) {
        size_t n = strlen(f->from->v[i]);

        if (f->next[i] < p)
            seek(f, i, p);
        if (f->next[i] < best || (f->next[i] == best && best < f->end && n > *ret_n)) {
            best = f->next[i];
            *ret_n = n;
        }
    }
    return best < f->end ? best : NULL;
}

int conda_prefix_text(const struct conda_prefix_move *m, const char *text, size_t n,
                      struct buf *out)
{
    const char *end = text + n, *at;
    struct finder f = finder_of(m->from, text, end);
    int changes = 0, r = 0;
    size_t len;

    for (; r == 0 && (at = conda_prefix_find(&f, text, &len)) != NULL; text = at + len, changes++) {
        r = buf_add(out, text, (size_t)(at - text));
        if (r == 0)
            r = buf_add_str(out, m->to);
    }
    if (r == 0 && text < end)
        r = buf_add(out, text, (size_t)(end - text));
    return r < 0 ? r : changes;
}

/* ---- programs ---- */

static int add_patch(struct conda_prefix_patches *p, uint64_t at, struct buf *bytes)
{
    if (p->n >= PATCHES_MAX)
        return -ENOMEM;
    return ARRAY_ADD(p->v, p->n,
                     (struct conda_prefix_patch){ at, (char *)take(bytes->data), bytes->len });
}

static bool all_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

/* What is being looked through. */
struct window {
    const struct conda_prefix_move *move;
    const char *data, *end;
    uint64_t at; /* of its first byte in the file */
};

/* One string, which has one of the paths at its beginning and ends at `nul`. 1 when it is changed,
 * 0 when it has no room. One string may hold several paths (a search path), so all of it is written
 * anew. It may grow into the NULs behind it, but the last of these must stay: it ends the
 * string. */
static int change_string(const struct window *w, const char *p, const char *nul,
                         struct conda_prefix_patches *ret)
{
    AUTO_BUF text = { .max = 64 * OVERLAP };
    size_t had = (size_t)(nul - p);
    int r = conda_prefix_text(w->move, p, had, &text);

    if (r < 0)
        return -ENOMEM;
    if (text.len > had &&
        ((size_t)(w->end - nul) <= text.len - had || !all_zero(nul + 1, text.len - had)))
        return 0;
    while (text.len < had)
        if (buf_add_u8(&text, 0) < 0)
            return -ENOMEM;
    r = add_patch(ret, w->at + (uint64_t)(p - w->data), &text);
    return r < 0 ? r : 1;
}

/* The strings that begin before `upto`; *ret_done is where to go on, behind the last of them. */
static int conda_prefix_look(const struct window *w, const char *upto,
                             struct conda_prefix_patches *ret, const char **ret_done,
                             size_t *ret_stuck)
{
    struct finder f = finder_of(w->move->from, w->data, w->end);
    const char *p = w->data, *nul;
    size_t len;
    int r = 0;

    while (r >= 0 && (p = conda_prefix_find(&f, p, &len)) != NULL && p < upto) {
        nul = memchr(p, '\0', (size_t)(w->end - p));
        r = nul ? change_string(w, p, nul, ret) : 0;
        *ret_stuck += r == 0;
        p = nul ? nul : p + len;
        *ret_done = p > upto ? p : upto;
    }
    return r < 0 ? r : 0;
}

static ssize_t conda_prefix_fill(int fd, char *to, size_t n, uint64_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, to + done, n - done, (off_t)(at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

int conda_prefix_binary(const struct conda_prefix_move *m, int fd, uint64_t size,
                        struct conda_prefix_patches *ret, size_t *ret_stuck)
{
    AUTO_FREE char *data = malloc(WINDOW);
    uint64_t at = 0;

    if (!data)
        return -ENOMEM;
    while (at < size) {
        ssize_t n =
            conda_prefix_fill(fd, data, size - at < WINDOW ? (size_t)(size - at) : WINDOW, at);
        const char *end = data + (n > 0 ? n : 0), *done;
        struct window w = { m, data, end, at };
        int r;

        if (n <= 0)
            return (int)n;
        done = n == WINDOW ? end - OVERLAP : end;
        r = conda_prefix_look(&w, done, ret, &done, ret_stuck);
        if (r < 0)
            return r;
        at += (uint64_t)(done - data);
    }
    return 0;
}
