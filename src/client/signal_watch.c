/* signal_watch.c - libuv's handles need their memory until they are closed, which takes a turn of
 * the loop: the last one that closes frees it. See signal_watch.h. */
#include "client/signal_watch.h"
#include "loop/loop.h"

#include <uv.h>

#define WATCHED_MAX 4

struct signal_watch {
    void (*fn)(void *arg, int number);
    void *arg;
    size_t open; /* handles that are not closed yet */
    uv_signal_t signals[WATCHED_MAX];
};

static void watch_on_signal(uv_signal_t *h, int number)
{
    struct signal_watch *w = h->data;

    w->fn(w->arg, number);
}

int signal_watch_start(struct loop *l, const int *wanted, void (*fn)(void *arg, int number),
                       void *arg, struct signal_watch **ret, struct err *err)
{
    struct signal_watch *w = calloc(1, sizeof(*w));
    int r = 0;

    *ret = w;
    if (!w)
        return err_oom(err);
    w->fn = fn;
    w->arg = arg;
    for (size_t i = 0; r == 0 && i < WATCHED_MAX && wanted[i]; i++) {
        r = uv_signal_init(loop_uv(l), &w->signals[i]);
        if (r < 0)
            break;
        w->open++;
        w->signals[i].data = w;
        uv_unref((uv_handle_t *)&w->signals[i]);
        r = uv_signal_start(&w->signals[i], watch_on_signal, wanted[i]);
    }
    return r < 0 ? err_code(err, r, "watch for signals") : 0;
}

static void watch_on_closed(uv_handle_t *h)
{
    struct signal_watch *w = h->data;

    if (--w->open == 0)
        free(w);
}

struct signal_watch *signal_watch_stop(struct signal_watch *w)
{
    size_t n = w ? w->open : 0;

    if (w && n == 0)
        free(w);
    for (size_t i = 0; i < n; i++)
        uv_close((uv_handle_t *)&w->signals[i], watch_on_closed);
    return NULL;
}
