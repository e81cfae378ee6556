/* command_output.c - a fiber that reads one end of a pipe; the program has the other. See
 * command_output.h. */
#include "serve/command/command_output.h"
#include "base/auto.h"
#include "base/str.h"
#include "loop/sock.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PIECE (4 * KIB)
#define LOOKS 64     /* pieces in one go */
#define AGAIN_MS 100 /* until what nobody took is offered again */
#define LINE 256

struct command_output {
    struct loop *loop;
    struct sock *sock;
    struct line_out *out;
    struct fiber *fiber;
    struct cond ended;
    char line[LINE], last[LINE]; /* begun, and ended */
    size_t n;
};

static void end_line(struct command_output *o)
{
    size_t blank = 0;

    o->line[o->n] = '\0';
    while (isspace((unsigned char)o->line[blank]))
        blank++;
    if (o->line[blank])
        (void)str_clean(o->last, sizeof(o->last), o->line + blank);
    o->n = 0;
}

static void take_piece(struct command_output *o, const char *p, size_t n)
{
    line_out_add(o->out, p, n);
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n' || p[i] == '\r')
            end_line(o);
        else if (o->n < LINE - 1)
            o->line[o->n++] = p[i] ? p[i] : ' ';
    }
}

static void pass_on(void *arg)
{
    struct command_output *o = arg;
    char piece[PIECE];
    ssize_t n = 1;

    while (n > 0 || n == -ETIMEDOUT) {
        n = sock_read(o->sock, piece, sizeof(piece),
                      line_out_waits(o->out) ? loop_in(o->loop, AGAIN_MS) : LOOP_NEVER);
        if (n > 0)
            take_piece(o, piece, (size_t)n);
        if (n == -ETIMEDOUT)
            line_out_go(o->out);
        if (n > 0 && fiber_yield(o->loop) < 0) /* a program that never stops talking */
            break;
    }
    o->fiber = NULL;
    cond_wake_all(&o->ended);
}

int command_output_start(struct loop *l, int *fd, struct line_out *out, struct command_output **ret,
                         struct err *err)
{
    struct command_output *o = calloc(1, sizeof(*o));
    int r;

    if (!o) {
        close(take_fd(*fd));
        return err_oom(err);
    }
    o->loop = l;
    o->out = out;
    r = sock_from_fd(l, take_fd(*fd), &o->sock, err);
    if (r == 0)
        r = fiber_start(l, pass_on, o, &o->fiber, err);
    if (r < 0)
        (void)command_output_stop(o);
    else
        *ret = o;
    return r;
}

void command_output_look(struct command_output *o)
{
    char piece[PIECE];
    ssize_t n = 1;

    for (int i = 0; o && i < LOOKS && n > 0; i++) {
        n = sock_read_now(o->sock, piece, sizeof(piece));
        if (n > 0)
            take_piece(o, piece, (size_t)n);
    }
    if (o)
        end_line(o);
}

const char *command_output_last(const struct command_output *o)
{
    return o ? o->last : "";
}

struct command_output *command_output_stop(struct command_output *o)
{
    if (!o)
        return NULL;
    if (o->sock)
        command_output_look(o);
    if (o->fiber)
        fiber_cancel(o->fiber);
    fiber_shield(o->loop, true);
    while (o->fiber)
        (void)cond_wait(o->loop, &o->ended, LOOP_NEVER);
    fiber_shield(o->loop, false);
    sock_close(o->sock);
    free(o);
    return NULL;
}
