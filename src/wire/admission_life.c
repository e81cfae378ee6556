/* admission_life.c - how an admission begins, with limits that fit the descriptors that the process
 * may have, and how it ends: no new peers, those outside dropped, those inside cancelled and waited
 * for. See admission.h. */
#include "loop/listen.h"
#include "wire/admission_private.h"

#include <sys/resource.h>

#define WAITING_MAX 512
#define WAITING_MIN 32
#define WAITING_SHARE 16 /* of all descriptors */
#define ENTERING_MAX 64
#define WAIT_MS 3000

static void admission_unref(struct admission *a)
{
    if (--a->refs == 0)
        free(a);
}

static void admission_on_handle_closed(uv_handle_t *h)
{
    admission_unref(h->data);
}

static size_t default_waiting(void)
{
    struct rlimit files = { 0 };
    size_t n = WAITING_MAX;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / WAITING_SHARE < n)
        n = (size_t)files.rlim_cur / WAITING_SHARE;
    return n > WAITING_MIN ? n : WAITING_MIN;
}

static struct admission *admission_new(const struct admission_options *o)
{
    struct admission *a = calloc(1, sizeof(*a));
    int domain = 0;
    socklen_t n = sizeof(domain);

    if (!a)
        return NULL;
    a->o = *o;
    a->fd = o->fd;
    a->o.waiting_max = o->waiting_max ? o->waiting_max : default_waiting();
    a->o.entering_max = o->entering_max ? o->entering_max : ENTERING_MAX;
    a->o.wait_ms = o->wait_ms ? o->wait_ms : WAIT_MS;
    a->is_unix = getsockopt(o->fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX;
    a->refs = 1;
    group_init(&a->fibers, o->loop, 0);
    return a;
}

int admission_start(const struct admission_options *o, struct admission **ret, struct err *err)
{
    struct admission *a = admission_new(o);
    int r;

    if (!a) {
        listen_close(o->fd);
        return err_oom(err);
    }
    r = uv_poll_init(loop_uv(o->loop), &a->poll, o->fd);
    if (r < 0) {
        listen_close(o->fd);
        free(a);
        return err_code(err, r, "watch a listening socket");
    }
    uv_timer_init(loop_uv(o->loop), &a->timer);
    a->poll.data = a->timer.data = a;
    a->refs += 2;
    r = uv_poll_start(&a->poll, UV_READABLE, admission_on_listen);
    if (r < 0) {
        admission_stop(a);
        admission_unref(a);
        return err_code(err, r, "watch a listening socket");
    }
    *ret = a;
    return 0;
}

size_t admission_serving(const struct admission *a)
{
    return a->fibers.running;
}

void admission_stop(struct admission *a)
{
    struct stranger_list *lists[] = { &a->waiting, &a->leaving, &a->ready };

    if (a->fd < 0)
        return;
    (void)uv_poll_stop(&a->poll);
    uv_close((uv_handle_t *)&a->poll, admission_on_handle_closed);
    uv_timer_stop(&a->timer);
    uv_close((uv_handle_t *)&a->timer, admission_on_handle_closed);
    a->fd = listen_close(a->fd);
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        while (lists[i]->first)
            admission_drop(lists[i]->first);
}

/* libuv's two handles are closed in later turns of the loop; each holds a reference until then. */
struct admission *admission_close(struct admission *a)
{
    if (!a)
        return NULL;
    admission_stop(a);
    group_cancel(&a->fibers);
    (void)group_wait(&a->fibers, NULL);
    admission_unref(a);
    return NULL;
}
