/* worker_output.c - what workers print, line by line on our standard error, with the worker's
 * number before it. The last line that has anything in it is kept: of a program that fails it says
 * why. */
#include "base/str.h"
#include "serve/worker/worker_pool_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LINE_MOST (2 * KIB) /* longer ones are broken */
#define READS 16            /* in one go: others wait */

static void output_line(struct worker_pool *p, struct worker *w)
{
    const char *text = buf_text(&w->line);
    char clean[4 * LINE_MOST + 1], line[sizeof(clean) + 32];
    int n;

    if (text && *text) {
        (void)str_clean(clean, sizeof(clean), text);
        n = snprintf(line, sizeof(line), "handler %u: %s\n", w->index, clean);
        if (n > 0)
            line_out_add(&p->out, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
        if (!isspace((unsigned char)*clean)) {
            pthread_mutex_lock(&p->lock);
            (void)snprintf(w->last_line, sizeof(w->last_line), "%.*s", WORKER_LINE - 1, clean);
            pthread_mutex_unlock(&p->lock);
        }
    }
    buf_reset(&w->line);
}

static void output_take(struct worker_pool *p, struct worker *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i] ? text[i] : ' ';

        if (c == '\n' || c == '\r' || w->line.len == LINE_MOST)
            output_line(p, w);
        if (c != '\n' && c != '\r')
            (void)buf_add(&w->line, &c, 1);
    }
}

void worker_output_read(struct worker_pool *p, struct worker *w)
{
    char text[4096];
    ssize_t n = 1;

    for (int i = 0; i < READS && n > 0 && w->process.output >= 0; i++) {
        n = read(w->process.output, text, sizeof(text));
        if (n > 0)
            output_take(p, w, text, (size_t)n);
    }
    if (n == 0 && w->process.output >= 0) {
        close(w->process.output);
        w->process.output = -1;
    }
}

void worker_output_end(struct worker_pool *p, struct worker *w)
{
    worker_output_read(p, w);
    output_line(p, w);
}
