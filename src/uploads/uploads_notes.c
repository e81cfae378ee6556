/* uploads_notes.c - what a script seems to open and what does not travel with it. See uploads.h.
 *
 * Modules are found and sent; a data directory that a script names in its text is not, and on this
 * machine the job would have worked. A guess is enough for a note: a name of the working directory
 * that stands in quotes in a script. */
#include "base/path.h"
#include "uploads/uploads_private.h"

#include <dirent.h>
#include <string.h>

#define SCRIPT_MAX MIB  /* larger ones are no scripts */
#define SCRIPTS_MAX 32  /* looked into */
#define NAMES_MAX 8     /* shown */
#define ENTRIES_MAX 512 /* of the working directory */

static bool uploads_notes_is_sent(const struct uploads_list *l, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < l->n; i++)
        if (str_starts(l->v[i].to, name) && (l->v[i].to[n] == '/' || l->v[i].to[n] == '\0'))
            return true;
    return false;
}

/* "data" or 'data/x' in the text. */
static bool in_quotes(const struct buf *text, const char *name)
{
    const char *p = (const char *)text->data, *end = p + text->len;
    size_t n = strlen(name);

    while ((p = memmem(p, (size_t)(end - p), name, n)) != NULL) {
        char before = p > (const char *)text->data ? p[-1] : ' ', after = p + n < end ? p[n] : ' ';

        if ((before == '"' || before == '\'') && (after == before || after == '/'))
            return true;
        p++;
    }
    return false;
}

static bool is_script(const struct uploads_item *item)
{
    return item->found && !item->directory && item->size <= SCRIPT_MAX &&
           (str_ends(item->to, ".py") || str_ends(item->to, ".sh"));
}

/* The names of `left` that a script has in quotes go to `named`. */
static int look_into(const struct uploads_item *item, const struct strs *left, struct strs *named)
{
    AUTO_BUF text = { .max = SCRIPT_MAX };
    int r = path_read(item->from, &text, NULL);

    for (size_t i = 0; r == 0 && text.len > 0 && i < left->n && named->n < NAMES_MAX; i++)
        if (!strs_has(named, left->v[i]) && in_quotes(&text, left->v[i]))
            r = strs_add(named, left->v[i]);
    return r == -ENOMEM ? r : 0; /* the interpreter will report that it cannot be read */
}

static int list_left(const struct uploads_search *s, struct strs *ret)
{
    AUTO_DIR DIR *d = opendir(s->cwd);
    struct dirent *e;
    int r = 0;

    while (d && r == 0 && ret->n < ENTRIES_MAX && (e = readdir(d)) != NULL)
        if (e->d_name[0] != '.' && !uploads_notes_is_sent(s->list, e->d_name))
            r = strs_add(ret, e->d_name);
    return r;
}

static int uploads_notes_add_names(struct buf *out, const struct strs *names, const char *before)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < names->n; i++)
        r = buf_printf(out, "%s%s%s", i ? "," : "", i ? " " : before, names->v[i]);
    return r;
}

static int write_note(struct uploads_search *s, const struct strs *named)
{
    AUTO_BUF text = { .max = 64 * KIB };
    AUTO_STRS sent = { 0 };
    int r = 0;

    for (size_t i = 0; r == 0 && i < s->list->n && sent.n < NAMES_MAX; i++)
        if (s->list->v[i].found)
            r = strs_add(&sent, s->list->v[i].to);
    if (r == 0)
        r = uploads_notes_add_names(&text, &sent, "sent with the job: ");
    if (r == 0 && s->list->n > sent.n)
        r = buf_add_str(&text, ", …");
    if (r == 0)
        r = uploads_notes_add_names(&text, named, "; not sent, but named in a script: ");
    if (r == 0)
        r = buf_printf(&text, " (send it with --files %s)", named->v[0]);
    if (r == -E2BIG)
        return 0;
    return r < 0 || !buf_text(&text) ? -ENOMEM : strs_add(&s->list->notes, buf_text(&text));
}

int uploads_note_left(struct uploads_search *s)
{
    AUTO_STRS left = { 0 }, named = { 0 };
    size_t n = 0;
    int r = list_left(s, &left);

    for (size_t i = 0; r == 0 && i < s->list->n && n < SCRIPTS_MAX; i++)
        if (is_script(&s->list->v[i])) {
            r = look_into(&s->list->v[i], &left, &named);
            n++;
        }
    return r < 0 || named.n == 0 ? r : write_note(s, &named);
}
