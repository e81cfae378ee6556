/* output_lines.c - see output_lines.h. Here pieces become lines; output_line.c gives them their
 * prefix. */
#include "terminal/output_lines.h"
#include "base/array.h"
#include "base/str.h"
#include "terminal/format.h"
#include "terminal/output_lines_private.h"
#include "terminal/sanitize.h"

#include <stdio.h>
#include <string.h>

#define KNOWN_TASKS 1000 /* of a role, made known before they say anything */

#define LABEL_MAX 256

/* ---- tasks by name ---- */

static size_t show_slot_of(const struct show *s, const char *name)
{
    uint64_t h = str_hash(name, strlen(name));
    size_t at;

    for (at = h & (s->n_slots - 1); s->slots[at]; at = (at + 1) & (s->n_slots - 1))
        if (strcmp(s->slots[at]->name, name) == 0)
            break;
    return at;
}

/* Room for one more at half full, so that a look-up ends soon. */
static int show_grow(struct show *s)
{
    size_t n = s->n_slots ? s->n_slots * 2 : 64;
    AUTO_FREE struct lane **slots = NULL;
    struct lane **old = s->slots;

    if ((s->n_lanes + 1) * 2 <= s->n_slots)
        return 0;
    slots = calloc(n, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    s->slots = take(slots);
    s->n_slots = n;
    for (struct lane *l = s->lanes; l; l = l->next)
        s->slots[show_slot_of(s, l->name)] = l;
    free(old);
    return 0;
}

static int show_lane_of(struct show *s, const char *task, struct lane **ret)
{
    size_t role, at;
    uint32_t rank;
    struct lane *l;

    if (show_grow(s) < 0)
        return -ENOMEM;
    at = show_slot_of(s, task);
    *ret = s->slots[at];
    if (*ret)
        return 0;
    if (!piece_task(task, &role, &rank))
        return -EINVAL;
    l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    memcpy(l->name, task, strlen(task) + 1);
    memcpy(l->role, task, role);
    l->rank = rank;
    l->number = (unsigned)s->n_lanes++;
    l->from[PIECE_ERR].stream = PIECE_ERR;
    for (size_t i = 0; i < COUNT_OF(l->from); i++) {
        l->from[i].lane = l;
        buf_init(&l->from[i].part, SHOW_LINE_MAX);
        buf_init(&l->from[i].label, LABEL_MAX);
    }
    if (strlen(task) > s->width)
        s->width = (unsigned)strlen(task);
    l->next = s->lanes;
    s->lanes = s->slots[at] = *ret = l;
    return 0;
}

int show_task(struct show *s, const char *task)
{
    struct lane *l;

    return show_lane_of(s, task, &l);
}

int show_roles(struct show *s, const json_t *roles, size_t *ret_tasks)
{
    const json_t *role;
    size_t i;
    int r = 0;

    json_array_foreach(roles, i, role)
    {
        int64_t n = json_int_or(role, "count", 0) * json_int_or(role, "procs", 1);

        for (int64_t rank = 0; r == 0 && rank < n; rank++) {
            char name[PIECE_TASK_MAX];

            if (rank == KNOWN_TASKS)
                rank = n - 1; /* the widest name */
            snprintf(name, sizeof(name), "%s:%lld", format_text(role, "name"), (long long)rank);
            r = show_task(s, name);
        }
        *ret_tasks += (size_t)(n > 0 ? n : 0);
    }
    return r;
}

/* ---- lines that are not finished ---- */

/* Those that wait stand in a list, so that looking for them costs nothing while there are none. */
static void wait_begin(struct show *s, struct source *f, int64_t now)
{
    f->since = now;
    if (f->waiting)
        return;
    f->waiting = true;
    f->next = NULL;
    *(s->wait_last ? &s->wait_last->next : &s->wait_first) = f;
    s->wait_last = f;
}

static int64_t show_due(const struct source *f)
{
    bool bar = f->part.len > 0 && memchr(f->part.data, '\r', f->part.len);

    return f->since + (bar ? SHOW_BAR_MS : SHOW_WAIT_MS);
}

/* Shows what there is of a line. An incomplete character waits for its other bytes, except at the
 * end.
 */
static int show_part(struct show *s, struct source *f, bool end, int64_t now)
{
    size_t tail = end ? 0 : sanitize_tail((char *)f->part.data, f->part.len);
    size_t n = f->part.len - tail;
    int r;

    if (n == 0 && !end)
        return 0;
    r = n > 0 ? show_line(s, f, (char *)f->part.data, n, SHOW_UNFINISHED, now) : 0;
    buf_eat(&f->part, n);
    return r;
}

/* A full line buffer: on a terminal what a progress bar wrote over can go instead. */
static int show_make_room(struct show *s, struct source *f, int64_t now)
{
    if (s->o.to[f->stream].terminal && !s->o.json) {
        const char *cr = memrchr(f->part.data, '\r', f->part.len - 1);

        if (cr) {
            buf_eat(&f->part, (size_t)(cr + 1 - (char *)f->part.data));
            return 0;
        }
    }
    return show_part(s, f, false, now);
}

static int show_add_part(struct show *s, struct source *f, const char *p, size_t n, int64_t now)
{
    bool fresh = f->part.len == 0;
    int r = 0;

    while (r == 0 && n > 0) {
        size_t room = SHOW_LINE_MAX - f->part.len, some = n < room ? n : room;

        r = buf_add(&f->part, p, some);
        p += some;
        n -= some;
        if (r == 0 && f->part.len == SHOW_LINE_MAX)
            r = show_make_room(s, f, now);
    }
    if (r == 0 && fresh && f->part.len > 0)
        wait_begin(s, f, now);
    return r;
}

static int show_add_line(struct show *s, struct source *f, const char *p, size_t n, int64_t now)
{
    int r;

    if (f->part.len == 0 && n <= SHOW_LINE_MAX)
        return show_line(s, f, p, n, SHOW_FINISHED, now);
    r = show_add_part(s, f, p, n, now);
    if (r == 0)
        r = show_line(s, f, (char *)f->part.data, f->part.len, SHOW_FINISHED, now);
    buf_reset(&f->part);
    return r;
}

/* Whoever begins to read while a task is between two agents is sent nothing of the first one. */
static int show_note_gap(struct source *f, uint64_t n)
{
    struct show_gap gap = { .from = f->before + f->offset, .to = f->before + f->offset + n };

    return ARRAY_ADD(f->gaps, f->n_gaps, gap);
}

/* It is the first of its file. An agent that follows one that was killed in the same container
 * sends again what that one saved, which was shown before anybody could know.
 *
 * A stream may be in several files, one for each agent that had it, and offsets of a piece count in
 * its own file. A place that is valid for all of them is `before` + `offset`:
 *
 *     saved by an earlier agent          of the file that is sent now
 *     [----------------------------]     [--------|---------------
 *     <--------- before ----------->     <-offset-> */
static int show_note_first(struct source *f, const struct piece *p)
{
    int r = p->began > 1 ? show_note_gap(f, 0) : 0;

    f->begins = false;
    f->began = p->began;
    if (f->last.id > 0 && p->saved == f->last.id) {
        f->before -= f->last.size;
        f->file_at -= f->last.size;
        f->offset = f->skip = p->offset + f->last.size;
    }
    f->before -= p->offset; /* may wrap; the sum does not */
    return r;
}

/* The task writes elsewhere: what was shown of the file before says nothing about this one. A new
 * master, who does not know how long that was, counts from 0. */
static int show_note_file(struct source *f, const struct piece *p)
{
    int r = 0;

    if (f->begins)
        return show_note_first(f, p);
    if (p->began <= f->began)
        return 0;
    if (p->began > 1) /* one file for all attempts, on one machine, has no other before it */
        r = show_note_gap(f, p->offset > f->offset ? p->offset - f->offset : 0);
    f->began = p->began;
    f->skip = 0;
    if (p->offset < f->offset)
        f->before += f->offset - p->offset;
    f->file_at = f->before + p->offset;
    return r;
}

/* How many bytes of a piece were shown before; all of them perhaps.
 *
 * `skip` is where this stream was when the last master went, or how far an agent sends again what
 * the one before it had saved. It is used once: what a master sends is in order, so that behind it
 * all is new, also bytes that a task writes again from the beginning. */
static size_t known_part(struct source *f, const struct piece *p)
{
    uint64_t known = f->skip > p->offset ? f->skip - p->offset : 0;

    if (known > p->n)
        return p->n;
    f->skip = 0; /* reached: from now on offsets are as they come */
    return (size_t)known;
}

/* After show_resume() a new master sends everything again; known_part() drops what was shown. A
 * line is shown when its end comes, when it has waited for long (show_tick()), or when its stream
 * ends. */
int show_piece(struct show *s, const struct piece *p, int64_t now)
{
    const char *at = p->data, *end = at ? at + p->n : NULL, *nl;
    struct source *f;
    struct lane *l;
    int r = show_lane_of(s, p->task, &l);

    if (r < 0)
        return r;
    f = &l->from[p->stream];
    if (p->kind == PIECE_OUTPUT && at) {
        r = show_note_file(f, p);
        at += known_part(f, p);
        if (at < end)
            f->offset = p->offset + p->n;
    }
    while (r == 0 && at < end && (nl = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        r = show_add_line(s, f, at, (size_t)(nl - at), now);
        at = nl + 1;
    }
    if (r == 0 && at < end)
        r = show_add_part(s, f, at, (size_t)(end - at), now);
    if (r == 0 && p->kind == PIECE_END)
        r = show_part(s, f, true, now);
    return r == 0 ? show_put(s) : r;
}

uint64_t show_offset(const struct show *s, const char *task, enum piece_stream stream)
{
    const struct lane *l = s->n_slots ? s->slots[show_slot_of(s, task)] : NULL;

    return l ? l->from[stream].before + l->from[stream].offset : 0;
}

uint64_t show_file(const struct show *s, const char *task, enum piece_stream stream)
{
    const struct lane *l = s->n_slots ? s->slots[show_slot_of(s, task)] : NULL;

    return l && !l->from[stream].begins ? l->from[stream].file_at : 0;
}

uint32_t show_began(const struct show *s, const char *task, enum piece_stream stream)
{
    const struct lane *l = s->n_slots ? s->slots[show_slot_of(s, task)] : NULL;
    const struct source *f = l ? &l->from[stream] : NULL;

    if (!f || f->begins || f->offset == 0)
        return 0;
    return f->began > 1 ? f->began : 1;
}

bool show_gap(const struct show *s, const char *task, enum piece_stream stream, size_t i,
              struct show_gap *ret)
{
    const struct lane *l = s->n_slots ? s->slots[show_slot_of(s, task)] : NULL;

    if (!l || i >= l->from[stream].n_gaps)
        return false;
    *ret = l->from[stream].gaps[i];
    return true;
}

bool show_has_gaps(const struct show *s)
{
    for (const struct lane *l = s->lanes; l; l = l->next)
        if (l->from[PIECE_OUT].n_gaps > 0 || l->from[PIECE_ERR].n_gaps > 0)
            return true;
    return false;
}

int show_earlier(struct show *s, const char *task, enum piece_stream stream, uint64_t bytes,
                 struct show_saved last)
{
    struct lane *l;
    int r = show_lane_of(s, task, &l);

    if (r < 0)
        return r;
    l->from[stream].before = l->from[stream].file_at = bytes;
    l->from[stream].offset = l->from[stream].skip = 0;
    l->from[stream].begins = true;
    l->from[stream].last = last;
    return 0;
}

void show_resume(struct show *s)
{
    for (struct lane *l = s->lanes; l; l = l->next)
        for (size_t i = 0; i < COUNT_OF(l->from); i++)
            l->from[i].skip = l->from[i].offset;
}

void show_resume_none(struct show *s, const char *task, enum piece_stream stream)
{
    struct lane *l = s->n_slots ? s->slots[show_slot_of(s, task)] : NULL;

    if (l)
        l->from[stream].skip = 0;
}

int show_begin_anew(struct show *s, int64_t now)
{
    int r = 0;

    for (struct lane *l = s->lanes; l && r == 0; l = l->next)
        for (size_t i = 0; i < COUNT_OF(l->from) && r == 0; i++) {
            struct source *f = &l->from[i];

            r = f->part.len > 0 ? show_part(s, f, true, now) : 0;
            f->offset = f->skip = f->before = f->file_at = 0;
            f->began = 0;
            f->n_gaps = 0;
            f->begins = false;
        }
    if (r == 0)
        r = show_close(s);
    return r == 0 ? show_put(s) : r;
}

int show_tick(struct show *s, int64_t now)
{
    struct source *f = s->wait_first, *next;
    int r = s->collapse ? collapse_time(s->collapse, now) : 0;

    s->wait_first = s->wait_last = NULL;
    for (; f; f = next) {
        bool late = show_due(f) <= now;
        int64_t since = f->since;

        next = f->next;
        f->waiting = false;
        if (r == 0 && late)
            r = show_part(s, f, false, now);
        if (f->part.len >
            0) /* waits on; the rest of a line that was partly shown starts a new one */
            wait_begin(s, f, late ? now : since);
    }
    return r == 0 ? show_put(s) : r;
}

int64_t show_deadline(const struct show *s)
{
    int64_t first = s->collapse ? collapse_deadline(s->collapse) : INT64_MAX;

    for (const struct source *f = s->wait_first; f; f = f->next)
        if (f->part.len > 0 && show_due(f) < first)
            first = show_due(f);
    return first;
}

int show_end(struct show *s, int64_t now)
{
    int r = 0;

    for (struct source *f = s->wait_first; r == 0 && f; f = f->next)
        r = show_part(s, f, true, now);
    if (r == 0 && s->collapse)
        r = collapse_flush(s->collapse);
    if (r == 0 && s->o.prefix)
        r = show_close(s);
    return r == 0 ? show_put(s) : r;
}

/* ---- life ---- */

int show_new(const struct show_options *o, struct show **ret)
{
    AUTO(show) struct show *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->o = *o;
    buf_init(&s->out, MIB);
    if (o->collapse && collapse_new(show_collapsed, s, &s->collapse) < 0)
        return -ENOMEM;
    *ret = take(s);
    return 0;
}

struct show *show_free(struct show *s)
{
    struct lane *next;

    if (!s)
        return NULL;
    for (struct lane *l = s->lanes; l; l = next) {
        next = l->next;
        for (size_t i = 0; i < COUNT_OF(l->from); i++) {
            buf_done(&l->from[i].part);
            buf_done(&l->from[i].label);
            free(l->from[i].gaps);
        }
        free(l);
    }
    free(s->slots);
    collapse_free(s->collapse);
    buf_done(&s->out);
    free(s);
    return NULL;
}
