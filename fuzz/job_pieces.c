/* job_pieces.c - a master's stream of events and output, and what becomes of the output on a
 * terminal: nothing in it may move the cursor. Elsewhere one stream comes out as it came in. */
#include "fuzz.h"
#include "terminal/output_lines.h"
#include "terminal/stream_piece.h"

#include <stdlib.h>
#include <string.h>

#define STEP 37 /* bytes that come at once */

/* Only text, tabs, newlines and colours. */
static int on_terminal(void *user, enum piece_stream stream, const void *p, size_t n)
{
    const char *s = p, *end = s + n;

    (void)user;
    (void)stream;
    for (; s < end; s++) {
        if (*s == '\033') {
            if (s + 1 == end || *++s != '[')
                abort();
            while (++s < end && strchr("0123456789;:", *s) && *s)
                ;
            if (s == end || *s != 'm')
                abort();
        } else if (((unsigned char)*s < ' ' && *s != '\n' && *s != '\t') || *s == 0x7f) {
            abort();
        }
    }
    return 0;
}

static int into_buffer(void *user, enum piece_stream stream, const void *p, size_t n)
{
    (void)stream;
    return buf_add(user, p, n);
}

struct views {
    struct show *terminal, *exact;
    struct buf sent, shown; /* what the first task wrote to standard output, and what was shown */
    char task[PIECE_TASK_MAX];
};

static void on_piece(struct views *v, const struct piece *p, int64_t now)
{
    if (p->kind == PIECE_EVENT)
        return;
    if (show_piece(v->terminal, p, now) < 0 || show_tick(v->terminal, now) < 0)
        abort();
    if (!v->task[0])
        memcpy(v->task, p->task, strlen(p->task) + 1);
    if (p->stream != PIECE_OUT || strcmp(p->task, v->task) != 0)
        return;
    if (show_piece(v->exact, p, now) < 0 || show_tick(v->exact, now) < 0 ||
        (p->kind == PIECE_OUTPUT && buf_add(&v->sent, p->data, p->n) < 0))
        abort();
}

static void read_stream(struct views *v, const uint8_t *data, size_t size)
{
    AUTO_PIECES s = { 0 };
    struct err err = ERR_INIT;
    struct piece p;
    int r = 0;

    pieces_init(&s);
    for (size_t at = 0; r == 0 && at < size; at += STEP) {
        r = pieces_feed(&s, data + at, size - at < STEP ? size - at : STEP, &err);
        while (r == 0 && (r = pieces_next(&s, &p, &err)) == 1) {
            on_piece(v, &p, (int64_t)at * 100);
            r = 0;
        }
    }
    if (r < 0 && !err.text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct views v = { .sent = { .max = 4 * MIB }, .shown = { .max = 4 * MIB } };
    struct show_options terminal = { .prefix = true,
                                     .collapse = size % 2,
                                     .to = { { true, true }, { true, true } },
                                     .sink = on_terminal };
    struct show_options exact = { .sink = into_buffer, .user = &v.shown };

    if (size > MIB || show_new(&terminal, &v.terminal) < 0 || show_new(&exact, &v.exact) < 0)
        return 0;
    read_stream(&v, data, size);
    if (show_end(v.terminal, 0) < 0 || show_end(v.exact, 0) < 0)
        abort();
    if (v.sent.len != v.shown.len || (v.sent.len && memcmp(v.sent.data, v.shown.data, v.sent.len)))
        abort();
    show_free(v.terminal);
    show_free(v.exact);
    buf_done(&v.sent);
    buf_done(&v.shown);
    return 0;
}
