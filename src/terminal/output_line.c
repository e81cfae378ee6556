/* output_line.c - a line of output with its prefix; see output_lines.h. */
#include "base/json.h"
#include "terminal/output_lines_private.h"
#include "terminal/sanitize.h"

#include <time.h>

#define PUT_BYTES (64 * KIB) /* handed over in pieces of about this size */

/* Colours that can be read on black and on white, neighbours well apart. */
static const char *const colours[] = { "36", "33", "32", "35", "34", "96", "93", "92", "95", "94" };

int show_put(struct show *s)
{
    int r = s->out.len > 0 ? s->o.sink(s->o.user, s->to, s->out.data, s->out.len) : 0;

    buf_reset(&s->out);
    return r;
}

/* What follows goes to `to`: what was rendered for the other stream must be out before. */
static int turn_to(struct show *s, enum piece_stream to)
{
    int r = s->to != to || s->out.len >= PUT_BYTES ? show_put(s) : 0;

    s->to = to;
    return r;
}

int show_close(struct show *s)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(s->open); i++) {
        if (!s->open[i])
            continue;
        s->open[i] = NULL;
        r = turn_to(s, (enum piece_stream)i);
        if (r == 0)
            r = buf_add_u8(&s->out, '\n');
    }
    return r;
}

static int put_time(struct show *s, int64_t at)
{
    bool colour = s->o.to[s->to].colour;
    int64_t ms = at + s->o.wall;
    time_t seconds = (time_t)(ms / 1000);
    char text[16];
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%H:%M:%S", &tm) == 0)
        return 0;
    return buf_printf(&s->out, "%s%s.%03d%s ", colour ? "\033[2m" : "", text, (int)(ms % 1000),
                      colour ? "\033[0m" : "");
}

/* "worker:1 │" in its colour, for the stream that is turned to. */
static int show_put_label(struct show *s, const char *label, unsigned number, struct buf *out)
{
    bool colour = s->o.to[s->to].colour;
    bool ascii = s->o.ascii && s->o.to[s->to].terminal;

    return buf_printf(out, "%s%s%s%-*s%s%s", colour ? "\033[" : "",
                      colour ? colours[number % COUNT_OF(colours)] : "", colour ? "m" : "",
                      (int)s->width, label, ascii ? "|" : "│", colour ? "\033[0m" : "");
}

/* The same for a task, kept from line to line. */
static int show_put_task(struct show *s, struct source *f)
{
    if (f->width != s->width) {
        buf_reset(&f->label);
        if (show_put_label(s, f->lane->name, f->lane->number, &f->label) < 0)
            return -ENOMEM;
        f->width = s->width;
    }
    return buf_add(&s->out, f->label.data, f->label.len);
}

static int put_space(struct show *s, size_t text)
{
    return s->o.prefix && text > 0 ? buf_add_u8(&s->out, ' ') : 0;
}

/* A terminal must not be steered by what a task writes; into a file or pipe the bytes go as they
 * are. */
static int put_body(struct show *s, const char *p, size_t n)
{
    if (!s->o.to[s->to].terminal)
        return buf_add(&s->out, p, n);
    p = sanitize_segment(p, &n);
    return sanitize_line(&s->out, p, n);
}

/* Goes this on where an open line of the same source stopped? If not, what is in the way ends.
 *
 * Text without a newline behind it (a prompt, a progress bar) stays open, so that what the task
 * writes next continues it. There is at most one open line per stream; where both streams go to one
 * terminal or file (`joined`), one in all. */
static int make_way(struct show *s, const struct source *f, bool *ret_goes_on)
{
    struct source *other = s->open[1 - f->stream];

    *ret_goes_on = s->open[f->stream] == f && !(s->o.joined && other);
    if (*ret_goes_on || (!s->open[f->stream] && !(s->o.joined && other)))
        return 0;
    return show_close(s);
}

static int put_line(struct show *s, struct source *f, const char *p, size_t n, enum show_how how,
                    int64_t now)
{
    bool whole = how == SHOW_FINISHED || s->o.to[f->stream].terminal;
    bool goes_on;
    int r = make_way(s, f, &goes_on);

    if (r == 0)
        r = turn_to(s, f->stream);
    if (r == 0 && !goes_on && s->o.timestamps)
        r = put_time(s, now);
    if (r == 0 && !goes_on && s->o.prefix)
        r = show_put_task(s, f);
    if (r == 0 && !goes_on)
        r = put_space(s, n);
    if (r == 0)
        r = put_body(s, p, n);
    if (r == 0 && whole)
        r = buf_add_u8(&s->out, '\n');
    s->open[f->stream] = whole ? NULL : f;
    return r;
}

static int put_json(struct show *s, const struct source *f, const char *p, size_t n,
                    enum show_how how)
{
    AUTO_FREE char *text = malloc(n + 1);
    AUTO_FREE char *line = NULL;
    AUTO_JSON *v = NULL;
    int r;

    if (!text)
        return -ENOMEM;
    text[n] = '\0';
    for (size_t i = 0; i < n; i++)
        text[i] = p[i] ? p[i] : '\xff'; /* a NUL is as bad as what is not UTF-8 */
    r = json_make(&v, NULL, "{s:{s:s, s:s, s:o, s:b}}", "output", "task", f->lane->name, "stream",
                  f->stream == PIECE_ERR ? "err" : "out", "text", json_text(text), "whole",
                  how == SHOW_FINISHED);
    if (r < 0)
        return r;
    line = json_dumps(v, JSON_COMPACT);
    if (!line)
        return -ENOMEM;
    r = turn_to(s, PIECE_OUT);
    return r < 0 ? r : buf_printf(&s->out, "%s\n", line);
}

int show_line(struct show *s, struct source *f, const char *p, size_t n, enum show_how how,
              int64_t now)
{
    struct collapse_from from = {
        .role = f->lane->role, .rank = f->lane->rank, .stream = f->stream, .last = &f->collapsed
    };

    if (s->o.json)
        return put_json(s, f, p, n, how);
    if (s->collapse)
        return collapse_add(s->collapse, &from, p, n, now);
    return put_line(s, f, p, n, how, now);
}

int show_collapsed(void *show, const struct collapse_line *line)
{
    struct show *s = show;
    char label[COLLAPSE_LABEL];
    int r = turn_to(s, line->stream);

    if (r == 0 && s->o.timestamps)
        r = put_time(s, line->at);
    if (r == 0)
        r = show_put_label(s, collapse_label(line, label), line->ranks[0], &s->out);
    if (r == 0)
        r = put_space(s, line->len);
    if (r == 0)
        r = put_body(s, line->text, line->len);
    return r < 0 ? r : buf_add_u8(&s->out, '\n');
}
