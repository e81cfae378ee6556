/* rabit_wire.c - a parser is given all bytes so far and says how many it used, 0 when more are
 * needed: a length out of bounds is an error before the rest arrives.
 *
 *     hello   rank | world | length, task id | length, command | only with print: length, text
 *     good    how many | their ranks
 *     node    rank | parent | world | how many tree links | their ranks | before it | after it
 *     peers   to connect to | that will come | each of the first: length, host | port | rank
 *
 * See rabit_wire.h. */
#include "rendezvous/rabit_wire.h"

#include <string.h>

static const char *const commands[] = {
    [RABIT_START] = "start",
    [RABIT_RECOVER] = "recover",
    [RABIT_SHUTDOWN] = "shutdown",
    [RABIT_PRINT] = "print",
};
#define COMMAND_MAX 16

static int32_t rabit_next_number(struct view *v)
{
    const uint8_t *p = view_bytes(v, sizeof(int32_t));
    int32_t n = 0;

    if (p)
        memcpy(&n, p, sizeof(n));
    return n;
}

/* A text of at most `max` bytes; NULL while it is not whole, with the length 0. A length out of
 * bounds is an error as soon as it is seen. */
static int next_text(struct view *v, size_t max, const char **ret, size_t *ret_n, struct err *err)
{
    int32_t n = rabit_next_number(v);

    *ret = NULL;
    *ret_n = 0;
    if (v->bad)
        return 0;
    if (n < 0 || (size_t)n > max)
        return err_set(err, -EPROTO, "a text of %d bytes, where %zu are allowed", n, max);
    *ret = (const char *)view_bytes(v, (size_t)n);
    *ret_n = *ret ? (size_t)n : 0;
    return 0;
}

ssize_t rabit_parse_number(const uint8_t *p, size_t n, void *ret, struct err *err)
{
    (void)err;
    if (n < sizeof(int32_t))
        return 0;
    memcpy(ret, p, sizeof(int32_t));
    return sizeof(int32_t);
}

static int find_command(const char *p, size_t n, enum rabit_command *ret)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strlen(commands[i]) == n && memcmp(commands[i], p, n) == 0) {
            *ret = (enum rabit_command)i;
            return 0;
        }
    }
    return -EPROTO;
}

static int copy_job(struct rabit_hello *h, const char *p, size_t n, struct err *err)
{
    if (n && memchr(p, 0, n))
        return err_set(err, -EPROTO, "a task id with a zero byte in it");
    if (n)
        memcpy(h->job, p, n);
    h->job[n] = 0;
    return 0;
}

ssize_t rabit_parse_hello(const uint8_t *p, size_t n, void *ret, struct err *err)
{
    struct rabit_hello *h = ret;
    struct view v = view_of(p, n);
    const char *text = NULL;
    size_t len = 0;
    int r;

    *h = (struct rabit_hello){ .rank = rabit_next_number(&v), .world = rabit_next_number(&v) };
    r = next_text(&v, RABIT_JOB_MAX, &text, &len, err);
    if (r == 0)
        r = copy_job(h, text, len, err);
    if (r == 0)
        r = next_text(&v, COMMAND_MAX, &text, &len, err);
    if (r < 0 || v.bad)
        return r;
    if (find_command(text, len, &h->command) < 0)
        return err_set(err, -EPROTO, "an unknown command");
    if (h->command == RABIT_PRINT)
        r = next_text(&v, RABIT_TEXT_MAX, &h->text, &h->text_n, err);
    if (r < 0 || v.bad)
        return r;
    h->size = n - v.n;
    return (ssize_t)h->size;
}

ssize_t rabit_parse_good(const uint8_t *p, size_t n, void *ret, struct err *err)
{
    struct rabit_good *g = ret;
    struct view v = view_of(p, n);

    *g = (struct rabit_good){ .n = rabit_next_number(&v) };
    if (v.bad)
        return 0;
    if (g->n < 0 || g->n > RABIT_LINKS_MAX)
        return err_set(err, -EPROTO, "%d good links, where %d are possible", g->n, RABIT_LINKS_MAX);
    for (int32_t i = 0; i < g->n; i++)
        g->ranks[i] = rabit_next_number(&v);
    return v.bad ? 0 : (ssize_t)(n - v.n);
}

int rabit_add_number(struct buf *out, int32_t v)
{
    return buf_add(out, &v, sizeof(v));
}

static int add_numbers(struct buf *out, const int32_t *v, int32_t n)
{
    return n ? buf_add(out, v, (size_t)n * sizeof(*v)) : 0;
}

/* Numbers only: rank, parent, world, how many tree links, their ranks, and the ranks before and
 * after it in the ring. */
int rabit_add_node(struct buf *out, int32_t rank, int32_t world, const struct rabit_node *node)
{
    int32_t head[] = { rank, node->parent, world, node->n_tree };
    int32_t ring[] = { node->prev, node->next };
    int r = add_numbers(out, head, COUNT_OF(head));

    if (r == 0)
        r = add_numbers(out, node->tree, node->n_tree);
    return r < 0 ? r : add_numbers(out, ring, COUNT_OF(ring));
}

static int add_peer(struct buf *out, const struct rabit_peer *p)
{
    int r = rabit_add_number(out, (int32_t)strlen(p->host));

    if (r == 0)
        r = buf_add_str(out, p->host);
    if (r == 0)
        r = rabit_add_number(out, p->port);
    return r < 0 ? r : rabit_add_number(out, p->rank);
}

/* Two numbers (of peers to connect to, of peers that will connect), then for each of the first
 * kind: length of its host, host, port, rank. */
int rabit_add_peers(struct buf *out, const struct rabit_peer *peers, int32_t n, int32_t others)
{
    int r = rabit_add_number(out, n);

    if (r == 0)
        r = rabit_add_number(out, others);
    for (int32_t i = 0; i < n && r == 0; i++)
        r = add_peer(out, &peers[i]);
    return r;
}
