/* live_block.c - lines are collected, cut to the terminal's width in columns (not bytes), and
 * drawn over those of the last time. See live_block.h. */
#include "terminal/live_block.h"
#include "base/str.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define METRICS 3 /* of a role, at most */
#define NAME_MAX_COLUMNS 20

/* The lines that are being made. */
struct block {
    const struct live_view *v;
    struct live *live;
    struct buf *out;
    struct buf line;
    unsigned most; /* lines */
};

/* The terminal may have been made narrower since: then it has wrapped lines that were drawn whole,
 * and the cursor is further below than lines were drawn. Each counts by the rows that it takes at
 * the width of now. */
int live_wipe(struct live *l, unsigned width, struct buf *out)
{
    unsigned up = 0;
    int r = 0;

    for (unsigned i = 0; i < l->n; i++)
        up += width > 0 && l->columns[i] > width ? (l->columns[i] + width - 1) / width : 1;
    if (up > 1)
        r = buf_printf(out, "\r\033[%uA\033[J", up - 1);
    else if (up == 1)
        r = buf_add_str(out, "\r\033[J");
    l->n = 0;
    return r;
}

/* Columns of `s`, cut with its ellipsis to fewer than `most`; *ret_bytes are to be shown of it. */
static unsigned fit(const char *s, unsigned most, size_t *ret_bytes, bool *ret_cut)
{
    unsigned columns = 0, all = 0;
    size_t bytes = 0;

    for (size_t i = 0; s[i]; i++)
        all += (s[i] & 0xc0) != 0x80;
    *ret_cut = all > most;
    while (s[bytes] && (!*ret_cut || columns + 1 < most)) {
        for (bytes++; (s[bytes] & 0xc0) == 0x80;)
            bytes++;
        columns++;
    }
    *ret_bytes = bytes;
    return columns + *ret_cut;
}

/* Ends the line that was collected: cut to the terminal, in `style`. */
static int live_end_line(struct block *b, const char *style)
{
    unsigned most = b->v->width > 1 ? b->v->width - 1 : 1;
    bool colour = b->v->colour && *style;
    const char *text = buf_text(&b->line);
    size_t bytes;
    bool cut;
    int r;

    if (!text)
        return -ENOMEM;
    b->live->columns[b->live->n] = fit(text, most, &bytes, &cut);
    r = buf_printf(b->out, "%s%s%.*s%s%s", b->live->n ? "\n" : "", colour ? style : "", (int)bytes,
                   text, cut ? (b->v->utf8 ? "…" : ".") : "", colour ? "\033[0m" : "");
    b->live->n++;
    buf_reset(&b->line);
    return r;
}

static int put_left(struct block *b, const json_t *progress)
{
    int64_t eta = json_int_or(progress, "eta_ms", -1);
    char span[FORMAT_SPAN];

    if (eta < 0)
        return 0;
    return buf_printf(&b->line, "  %s left", format_span(eta, span));
}

static int live_put_progress(struct block *b, const json_t *v)
{
    size_t before;
    int r = buf_add_str(&b->line, "  ");

    before = b->line.len;
    if (r == 0)
        r = format_progress(v, &b->line);
    if (r == 0 && b->line.len == before)
        b->line.len -= 2;
    return r;
}

static int live_put_head(struct block *b)
{
    const json_t *s = b->v->status, *progress = json_object_get(s, "progress");
    const char *name = format_text(s, "name");
    int64_t created = json_int_or(s, "created", b->v->now),
            restarts = json_int_or(s, "restarts", 0);
    char state[16], span[FORMAT_SPAN];
    int r = format_clean(&b->line, *name ? name : format_text(s, "job"));

    if (r == 0)
        r = buf_printf(&b->line, "  %s  %s",
                       format_lower(format_text(s, "state"), state, sizeof(state)),
                       format_span(b->v->now > created ? b->v->now - created : 0, span));
    if (r == 0)
        r = live_put_progress(b, progress);
    if (r == 0)
        r = put_left(b, progress);
    if (r == 0 && restarts > 0)
        r = buf_printf(&b->line, "  %lld restart%s", (long long)restarts, restarts > 1 ? "s" : "");
    return r < 0 ? r : live_end_line(b, "\033[1m");
}

/* The numbers that a role's first reporting task told last. */
static int put_metrics(struct block *b, const char *role)
{
    const json_t *tasks = json_object_get(b->v->status, "tasks"), *t, *value;
    const char *key;
    size_t i, n = 0;
    int r = 0;

    json_array_foreach(tasks, i, t)
    {
        json_t *metrics = json_object_get(t, "metrics");

        if (!str_eq(format_text(t, "role"), role) || !json_object_size(metrics))
            continue;
        json_object_foreach(metrics, key, value)
        {
            if (r < 0 || n++ == METRICS)
                return r;
            r = format_print(&b->line, "  %s", key);
            if (r == 0 && json_is_number(value))
                r = buf_printf(&b->line, " %.4g", json_number_value(value));
        }
        return r;
    }
    return r;
}

static int put_role(struct block *b, const json_t *role, unsigned width)
{
    const char *name = format_text(role, "name");
    int r = buf_printf(&b->line, "  %-*s  ", (int)width, name);

    if (r == 0)
        r = format_states(json_object_get(role, "states"), &b->line);
    if (r == 0)
        r = live_put_progress(b, role);
    if (r == 0)
        r = put_metrics(b, name);
    return r < 0 ? r : live_end_line(b, "");
}

static int put_roles(struct block *b)
{
    const json_t *roles = json_object_get(b->v->status, "roles"), *role;
    size_t n = json_array_size(roles), i;
    unsigned width = 0;
    int r = 0;

    json_array_foreach(roles, i, role)
    {
        size_t len = strlen(format_text(role, "name"));

        if (len > width)
            width = (unsigned)(len < NAME_MAX_COLUMNS ? len : NAME_MAX_COLUMNS);
    }
    json_array_foreach(roles, i, role)
    {
        if (b->live->n + 1 >= b->most && i + 1 < n) {
            r = buf_printf(&b->line, "  and %zu more role%s", n - i, n - i == 1 ? "" : "s");
            return r < 0 ? r : live_end_line(b, "\033[2m");
        }
        r = put_role(b, role, width);
        if (r < 0)
            return r;
    }
    return 0;
}

static int put_waiting(struct block *b)
{
    const char *waiting = format_text(b->v->status, "waiting");
    int r;

    if (!*waiting || b->live->n >= b->most)
        return 0;
    r = format_print(&b->line, "  %s", waiting);
    return r < 0 ? r : live_end_line(b, "\033[2m");
}

int live_draw(struct live *l, const struct live_view *v, struct buf *out)
{
    struct block b = { .v = v, .live = l, .out = out, .line = { .max = 16 * KIB } };
    int r = live_wipe(l, v->width, out);

    /* Half of the screen belongs to what the tasks say. */
    b.most = v->rows / 2 < LIVE_LINES ? v->rows / 2 : LIVE_LINES;
    if (b.most < 2)
        b.most = 2;
    if (r == 0)
        r = live_put_head(&b);
    if (r == 0)
        r = put_roles(&b);
    if (r == 0)
        r = put_waiting(&b);
    buf_done(&b.line);
    return r;
}
