/* format_pages.c - one window over a file: a read outside of it moves it there. See format_pages.h.
 */
#include "model/format/format_pages.h"

struct pages pages_of(const struct format_tree *t, size_t file)
{
    return (struct pages){
        .tree = t, .file = file, .size = t->files[file].size, .steps = FORMAT_FIELDS
    };
}

void pages_done(struct pages *p)
{
    free(take(p->data));
    p->n = 0;
}

static bool pages_fill(struct pages *p, uint64_t at)
{
    size_t n = p->size - at < PAGES_WINDOW ? (size_t)(p->size - at) : PAGES_WINDOW;

    if (!p->data)
        p->data = malloc(PAGES_WINDOW);
    p->n = 0;
    p->failed =
        p->data ? p->tree->read(p->tree->arg, p->file, at, p->data, n, &p->err) : err_oom(&p->err);
    if (p->failed < 0)
        return false;
    p->at = at;
    p->n = n;
    return true;
}

const uint8_t *pages_get(struct pages *p, uint64_t at, size_t n)
{
    if (p->failed < 0 || n > PAGES_WINDOW || at > p->size || n > p->size - at)
        return NULL;
    if (!p->data || at < p->at || at + n > p->at + p->n)
        if (!pages_fill(p, at))
            return NULL;
    return p->data + (at - p->at);
}

bool pages_step(struct pages *p)
{
    return p->failed == 0 && p->steps > 0 && p->steps--;
}

int pages_failed(const struct pages *p, struct err *err)
{
    if (p->failed < 0 && err)
        *err = p->err;
    return p->failed;
}
