/* admission.c - who may come in, decided before anybody costs more than a descriptor; the states
 * are drawn in admission.h.
 *
 * Only from "entering" on there is a fiber. SO_RCVLOWAT makes the kernel tell of a waiting peer
 * only when it has said more than what was looked at last, so that one that says little does not
 * cost a turn of the loop again and again. */
#include "wire/admission.h"
#include "base/log.h"
#include "loop/fiber.h"
#include "loop/resolve.h"
#include "loop/sock.h"
#include "wire/admission_private.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>

#define LEAVE_MS 1000 /* for a refused peer to read why */
#define SLOW_MS 500   /* an entering peer may be so slow while others wait */
#define TICK_MS 250
#define MAY_NOT "this address or user may not connect"
#define BURST 64 /* connections accepted before others have their turn */

/* ---- waiting peers ---- */

static void list_add(struct stranger_list *l, struct stranger *s)
{
    s->prev = l->last;
    s->next = NULL;
    *(l->last ? &l->last->next : &l->first) = s;
    l->last = s;
    l->n++;
}

static void list_remove(struct stranger_list *l, struct stranger *s)
{
    *(s->prev ? &s->prev->next : &l->first) = s->next;
    *(s->next ? &s->next->prev : &l->last) = s->prev;
    l->n--;
}

static void on_stranger_closed(uv_handle_t *h)
{
    free(h->data);
}

/* Takes the descriptor out of it, and frees the rest. */
static int stranger_done(struct stranger *s)
{
    int fd = s->fd;

    list_remove(s->list, s);
    if (s->list == &s->of->waiting)
        s->of->from[s->bucket]--;
    if (s->polled) {
        uv_poll_stop(&s->poll);
        uv_close((uv_handle_t *)&s->poll, on_stranger_closed);
    } else {
        free(s);
    }
    return fd;
}

void admission_drop(struct stranger *s)
{
    close(stranger_done(s));
}

static void move_to(struct stranger *s, struct stranger_list *to)
{
    list_remove(s->list, s);
    if (s->list == &s->of->waiting)
        s->of->from[s->bucket]--;
    s->list = to;
    list_add(to, s);
    if (s->polled)
        uv_poll_stop(&s->poll);
}

size_t admission_waiting(const struct admission *a)
{
    return a->waiting.n + a->leaving.n + a->ready.n;
}

/* The longest-waiting connection of the address with the most connections. Somebody who opens many
 * connections and says nothing so fills the room with its own, and pushes out its own; a peer with
 * a single connection is pushed out last. */
static void evict(struct admission *a)
{
    struct stranger *s = a->waiting.first;
    unsigned most = 0;

    if (a->leaving.first) {
        admission_drop(a->leaving.first);
        return;
    }
    for (size_t i = 0; i < ADMISSION_BUCKETS; i++)
        most = a->from[i] > most ? a->from[i] : most;
    while (s && a->from[s->bucket] < most)
        s = s->next;
    if (!s)
        return;
    admission_note(a, s->fd, "too many connections, and this one sent nothing");
    admission_drop(s);
}

static int admission_watch(struct stranger *s, uv_poll_cb on_event);

/* The peer is told why, and gets time to read it: closing at once could discard the message.
 * SHUT_WR says that nothing more comes; then its bytes are dropped until it closes, or LEAVE_MS is
 * over. */
static void leave_with(struct stranger *s, const char *answer, uv_poll_cb on_event)
{
    if (!answer || send(s->fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        admission_drop(s);
        return;
    }
    (void)shutdown(s->fd, SHUT_WR);
    s->until = loop_in(s->of->o.loop, LEAVE_MS);
    move_to(s, &s->of->leaving);
    if (admission_watch(s, on_event) < 0)
        admission_drop(s);
}

static void on_last_words(uv_poll_t *h, int status, int events)
{
    struct stranger *s = h->data;
    char dropped[4 * KIB];
    ssize_t n = recv(s->fd, dropped, sizeof(dropped), MSG_DONTWAIT);

    (void)events;
    if (status < 0 || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        admission_drop(s);
}

/* ---- those whose first message is there ---- */

static void unlink_visitor(struct visitor *v)
{
    struct admission *a = v->of;

    *(v->prev ? &v->prev->next : &a->entering) = v->next;
    *(v->next ? &v->next->prev : &a->entering_last) = v->prev;
    a->n_entering--;
}

/* Whether somebody stands for it; a refused peer is told so, if it reads at once. */
static bool vouched_for(struct visitor *v)
{
    struct admission *a = v->of;
    int fd = sock_fd(v->sock);

    if (!a->o.vouch || a->o.vouch(a->o.user, fd))
        return true;
    if (!fiber_cancelled(a->o.loop))
        admission_note(a, fd, MAY_NOT);
    if (a->o.forbidden)
        (void)send(fd, a->o.forbidden, strlen(a->o.forbidden), MSG_NOSIGNAL | MSG_DONTWAIT);
    return false;
}

static int serve_visitor(void *arg, struct err *err)
{
    struct visitor *v = arg;
    struct admission *a = v->of;

    (void)err;
    v->fiber = fiber_self(a->o.loop);
    if (vouched_for(v))
        a->o.serve(a->o.user, v, v->sock);
    else
        (void)sock_close(v->sock);
    admission_pass(v);
    free(v);
    return 0;
}

/* From here on the fiber reads as usual, so the low-water mark of the look goes. The descriptor has
 * one owner at any time: the stranger until stranger_done(), this function, then the socket. On
 * every failure it is closed here, and nobody is told: memory is short. */
static void start_visitor(struct admission *a, int fd)
{
    AUTO_FREE struct visitor *v = calloc(1, sizeof(*v));
    struct err err = ERR_INIT;
    int one = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
    if (!v) {
        close(fd);
        return;
    }
    v->of = a;
    v->since = loop_now(a->o.loop);
    if (sock_from_fd(a->o.loop, fd, &v->sock, &err) < 0)
        return;
    if (group_go(&a->fibers, serve_visitor, v, &err) < 0) {
        trace(LOG_WIRE, "%s: a connection is dropped: %s", a->o.name, err.text);
        (void)sock_close(v->sock);
        return;
    }
    v->prev = a->entering_last;
    *(v->prev ? &v->prev->next : &a->entering) = v;
    a->entering_last = v;
    a->n_entering++;
    (void)take(v);
}

/* Those that stand in the door while others wait go. As many are hurried as wait, the slowest
 * first. Within SLOW_MS nobody is: a handshake takes a round trip or two. One without `fiber` has
 * been started in this very turn and did not run yet. */
static void hurry(struct admission *a)
{
    size_t n = a->ready.n;

    for (struct visitor *v = a->entering; v && n > 0; v = v->next) {
        if (v->hurried || !v->fiber)
            continue;
        if (loop_now(a->o.loop) - v->since < SLOW_MS)
            return;
        v->hurried = true;
        fiber_cancel(v->fiber);
        n--;
    }
}

/* While those that are ready fill the house, others wait in the kernel's queue. */
static void listen_again(struct admission *a)
{
    if (a->fd < 0 || !a->paused || a->ready.n >= a->o.waiting_max)
        return;
    a->paused = uv_poll_start(&a->poll, UV_READABLE, admission_on_listen) < 0;
}

static void let_in(struct admission *a)
{
    while (a->ready.first && a->n_entering < a->o.entering_max)
        start_visitor(a, stranger_done(a->ready.first));
    hurry(a);
    listen_again(a);
}

void admission_pass(struct visitor *v)
{
    if (v->passed)
        return;
    v->passed = true;
    unlink_visitor(v);
    let_in(v->of);
}

/* ---- first words ---- */

static void on_words(uv_poll_t *h, int status, int events);

/* Its first message is there. Asking the kernel for the peer's identity costs something, so it is
 * done only now. */
static void admission_welcome(struct stranger *s)
{
    struct admission *a = s->of;

    if (a->o.check && !a->o.check(a->o.user, s->fd)) {
        admission_note(a, s->fd, MAY_NOT);
        leave_with(s, a->o.forbidden, on_last_words);
        return;
    }
    move_to(s, &a->ready);
    let_in(a);
}

/* The bytes are inspected without reading them from the socket. */
static void admission_look(struct stranger *s)
{
    struct admission *a = s->of;
    struct err why = ERR_INIT;
    uint8_t p[8 * KIB];
    ssize_t n = recv(s->fd, p, sizeof(p), MSG_PEEK | MSG_DONTWAIT);
    int r, next;

    /* Woken although there is no more than before: that is the end of what it sends. */
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || (n > 0 && (size_t)n <= s->seen)) {
        admission_drop(s); /* its end */
        return;
    }
    s->seen = n > 0 ? (size_t)n : s->seen;
    r = n > 0 ? a->o.first(p, (size_t)n, &why) : 0;
    if (r > 0) {
        admission_welcome(s);
        return;
    }
    if (r < 0) {
        admission_note(a, s->fd, why.text);
        admission_drop(s);
        return;
    }
    next = (int)s->seen + 1;
    (void)setsockopt(s->fd, SOL_SOCKET, SO_RCVLOWAT, &next, sizeof(next));
    if (!s->polled && admission_watch(s, on_words) < 0)
        admission_drop(s);
}

static void on_words(uv_poll_t *h, int status, int events)
{
    struct stranger *s = h->data;

    (void)events;
    if (status < 0)
        admission_drop(s);
    else
        admission_look(s);
}

static int admission_watch(struct stranger *s, uv_poll_cb on_event)
{
    if (!s->polled && uv_poll_init(loop_uv(s->of->o.loop), &s->poll, s->fd) < 0)
        return -ENOMEM;
    s->polled = true;
    s->poll.data = s;
    return uv_poll_start(&s->poll, UV_READABLE, on_event);
}

/* ---- accepting ---- */

/* A small hash is enough: two addresses that share a bucket share a limit, for a moment. */
static unsigned admission_bucket_of(int fd)
{
    union resolve_addr a = { 0 };
    socklen_t n = sizeof(a);
    const uint8_t *p;
    unsigned h = 0;

    if (getpeername(fd, &a.sa, &n) < 0)
        return 0;
    n = a.sa.sa_family == AF_INET6 ? 16 : 4;
    p = n == 16 ? (const uint8_t *)&a.in6.sin6_addr : (const uint8_t *)&a.in4.sin_addr;
    while (n-- > 0)
        h = h * 31 + *p++;
    return h % ADMISSION_BUCKETS;
}

/* Somebody new. */
static void admission_meet(struct admission *a, int fd)
{
    struct stranger *s;

    /* The kernel says who is at the other end of a Unix socket, so there is nothing to wait for. */
    if (a->is_unix) {
        if (!a->o.check || a->o.check(a->o.user, fd))
            start_visitor(a, fd);
        else
            close(fd);
        return;
    }
    sock_set_tcp(fd);
    s = calloc(1, sizeof(*s));
    if (!s) {
        close(fd);
        return;
    }
    *s = (struct stranger){
        .of = a, .fd = fd, .list = &a->waiting, .bucket = admission_bucket_of(fd)
    };
    s->until = loop_in(a->o.loop, a->o.wait_ms);
    if (admission_waiting(a) >= a->o.waiting_max)
        evict(a);
    list_add(&a->waiting, s);
    a->from[s->bucket]++;
    admission_tick(a);
    admission_look(s);
}

static void stop_listening(struct admission *a)
{
    (void)uv_poll_stop(&a->poll); /* until there is room again */
    a->paused = true;
    admission_tick(a);
}

/* Bounded by BURST, so that a flood of connections leaves time for those that are inside. */
void admission_on_listen(uv_poll_t *h, int status, int events)
{
    struct admission *a = h->data;

    (void)status;
    (void)events;
    for (int i = 0; i < BURST && a->ready.n < a->o.waiting_max; i++) {
        int fd = accept4(a->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            admission_meet(a, fd);
            continue;
        }
        if (errno == EAGAIN)
            return;
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        trace(LOG_WIRE, "%s: accept: error %d, trying again", a->o.name, errno);
        evict(a); /* descriptors have run out: those of strangers first */
        stop_listening(a);
        return;
    }
    if (a->ready.n >= a->o.waiting_max)
        stop_listening(a);
}

/* ---- deadlines ---- */

static bool has_said_more(const struct stranger *s)
{
    int n = 0;

    return ioctl(s->fd, FIONREAD, &n) == 0 && n > 0 && (size_t)n > s->seen;
}

static void expire(struct admission *a)
{
    int64_t now = loop_now(a->o.loop);
    struct stranger *s;

    while ((s = a->waiting.first) && s->until <= now) {
        /* It may have spoken in time, when it was us who stood still. */
        if (has_said_more(s))
            admission_look(s);
        if (a->waiting.first != s)
            continue;
        admission_note(a, s->fd,
                       s->seen ? "it sent too little in time" : "it sent nothing in time");
        leave_with(s, s->seen ? a->o.late : NULL, on_last_words);
    }
    while ((s = a->leaving.first) && s->until <= now)
        admission_drop(s);
}

static void on_tick(uv_timer_t *t)
{
    struct admission *a = t->data;
    bool told = admission_notes_told(a); /* also while strangers keep coming */

    expire(a);
    let_in(a);
    if (told && admission_waiting(a) == 0 && a->n_entering == 0 && !a->paused)
        uv_timer_stop(&a->timer);
}

void admission_tick(struct admission *a)
{
    if (!uv_is_active((uv_handle_t *)&a->timer))
        (void)uv_timer_start(&a->timer, on_tick, TICK_MS, TICK_MS);
}
