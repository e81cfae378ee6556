/* fiber.c - functions that wait without blocking the thread: each has a stack of its own. See
 * fiber.h.
 *
 * A fiber's first turn starts by setcontext() on its own stack; every later switch is a pair of
 * sigsetjmp and siglongjmp, which costs no system call. The scheduler is the loop's own stack:
 *
 *     fiber_run_ready ──► enter(f) ──► f runs ──► park(f) ──► back in fiber_enter() ──► next
 *
 *     started ──► ready ──► running ──► waiting (in a cond, or for its timer) ──► ready …
 *                              └──► ended: its stack goes to the next one
 *
 * The fortified longjmp refuses to jump between stacks, so this file alone is built without it. */
#undef _FORTIFY_SOURCE
#include "loop/fiber.h"
#include "base/auto.h"
#include "loop/loop_private.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define SPARE_STACKS 32
#define TURN_LIMIT 4096 /* fibers that only wake each other must not starve the I/O */

#if defined(WITH_ASAN) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES (4 * FIBER_STACK) /* instrumented frames are several times larger */
#else
#define STACK_BYTES FIBER_STACK
#endif

struct stack {
    struct stack *next; /* lives in the stack's own memory while it is spare */
};

/* A fiber is in one list at most: of a cond, of those that are ready, or of those that yielded. So
 * one pair of links (wait_prev, wait_next) serves all of them. `map` is NULL before its first
 * turn. */
struct fiber {
    struct loop *loop;
    void (*fn)(void *arg);
    void *arg;
    struct fiber *prev, *next;           /* loop->all */
    struct fiber *wait_prev, *wait_next; /* in a cond, or in a ready list */
    struct cond *cond;                   /* what it waits for */
    char *map;                           /* guard page and stack */
    uv_timer_t timer;
    sigjmp_buf env;
    ucontext_t first;
    int woken_with;
    unsigned shields;
    bool started, waiting, cancelled, ended;
    void *fake_stack;
    void *tsan;
};

/* ---- stacks ---- */

static size_t guard_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Below the stack is a page that nobody may touch: running over it is a fault at once, not somebody
 * else's broken memory. MAP_NORESERVE, because a thousand stacks are mostly untouched. */
static char *stack_new(struct loop *l)
{
    size_t guard = guard_bytes();
    char *map;

    if (l->spare) {
        struct stack *s = l->spare;

        l->spare = s->next;
        l->spares--;
        return (char *)s - guard;
    }
    map = mmap(NULL, guard + STACK_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map, guard, PROT_NONE) < 0) {
        munmap(map, guard + STACK_BYTES);
        return NULL;
    }
    return map;
}

/* The list of spare stacks lives in the stacks themselves. */
static void stack_free(struct loop *l, char *map)
{
    size_t guard = guard_bytes();

    if (l->spares < SPARE_STACKS) {
        struct stack *s = (struct stack *)(map + guard);

        s->next = l->spare;
        l->spare = s;
        l->spares++;
        return;
    }
    munmap(map, guard + STACK_BYTES);
}

void fiber_drop_spares(struct loop *l)
{
    size_t guard = guard_bytes();

    while (l->spare) {
        struct stack *s = l->spare;

        l->spare = s->next;
        munmap((char *)s - guard, guard + STACK_BYTES);
    }
    l->spares = 0;
}

/* ---- switching ---- */

/* The sanitizers follow the stack pointer. Without being told of a switch they take the jump for a
 * use of memory behind the stack's end. */
static void sanitizer_leave(struct fiber *f, bool to_fiber)
{
#ifdef WITH_ASAN
    struct loop *l = f->loop;

    if (to_fiber)
        __sanitizer_start_switch_fiber(&l->asan_stack, f->map + guard_bytes(), STACK_BYTES);
    else
        __sanitizer_start_switch_fiber(f->ended ? NULL : &f->fake_stack, l->asan_stack,
                                       l->asan_size);
#endif
#ifdef __SANITIZE_THREAD__
    if (to_fiber)
        f->loop->tsan_home = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to_fiber ? f->tsan : f->loop->tsan_home, 0);
#endif
    (void)f;
    (void)to_fiber;
}

static void sanitizer_arrive(struct fiber *f, bool in_fiber)
{
#ifdef WITH_ASAN
    struct loop *l = f->loop;
    const void *bottom = NULL;
    size_t size = 0;

    if (in_fiber) {
        __sanitizer_finish_switch_fiber(f->fake_stack, &bottom, &size);
        l->asan_stack = (void *)bottom;
        l->asan_size = size;
    } else {
        __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
    }
#endif
    (void)f;
    (void)in_fiber;
}

/* Runs `f` until it parks or ends. The second argument of sigsetjmp() is 0 here and in park(): the
 * signal mask is not saved, which would be two system calls for each switch. Fibers do not change
 * it. */
static void fiber_enter(struct fiber *f)
{
    struct loop *l = f->loop;

    l->current = f;
    if (sigsetjmp(l->home, 0) == 0) {
        sanitizer_leave(f, true);
        if (f->started)
            siglongjmp(f->env, 1);
        f->started = true;
        setcontext(&f->first);
    }
    sanitizer_arrive(f, false);
    l->current = NULL;
}

/* Back to the scheduler; returns when the fiber is entered again. */
static void park(struct fiber *f)
{
    if (sigsetjmp(f->env, 0) == 0) {
        sanitizer_leave(f, false);
        siglongjmp(f->loop->home, 1);
    }
    sanitizer_arrive(f, true);
}

static void fiber_on_timer_closed(uv_handle_t *h)
{
    struct fiber *f = h->data;

#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(f->tsan);
#endif
    free(f);
}

static void unlink_all(struct fiber *f)
{
    if (f->prev)
        f->prev->next = f->next;
    else
        f->loop->all = f->next;
    if (f->next)
        f->next->prev = f->prev;
    f->loop->living--;
}

/* makecontext passes ints only: a pointer goes in two halves. */
static void entry(unsigned low, unsigned high)
{
    struct fiber *f = (struct fiber *)((uintptr_t)low | (uintptr_t)high << 32);

    sanitizer_arrive(f, true);
    f->fn(f->arg);
    f->ended = true;
    sanitizer_leave(f, false);
    siglongjmp(f->loop->home, 1);
}

/* uc_link is NULL: entry() never returns, but jumps to the scheduler. */
static void prepare_stack(struct fiber *f)
{
    uintptr_t p = (uintptr_t)f;

    getcontext(&f->first);
    f->first.uc_stack.ss_sp = f->map + guard_bytes();
    f->first.uc_stack.ss_size = STACK_BYTES;
    f->first.uc_link = NULL;
    makecontext(&f->first, (void (*)(void))entry, 2, (unsigned)(p & 0xffffffff),
                (unsigned)(p >> 32));
#ifdef __SANITIZE_THREAD__
    f->tsan = __tsan_create_fiber(0);
#endif
}

/* ---- ready lists ---- */

/* An active idle handle keeps the poll from blocking; that is all it is for. */
static void on_busy(uv_idle_t *h)
{
    (void)h;
}

static void keep_turning(struct loop *l)
{
    if (!uv_is_active((uv_handle_t *)&l->busy))
        uv_idle_start(&l->busy, on_busy);
}

static void fiber_append(struct fiber **first, struct fiber **last, struct fiber *f)
{
    f->wait_next = NULL;
    f->wait_prev = *last;
    if (*last)
        (*last)->wait_next = f;
    else
        *first = f;
    *last = f;
}

static void detach(struct fiber **first, struct fiber **last, struct fiber *f)
{
    if (f->wait_prev)
        f->wait_prev->wait_next = f->wait_next;
    else
        *first = f->wait_next;
    if (f->wait_next)
        f->wait_next->wait_prev = f->wait_prev;
    else
        *last = f->wait_prev;
    f->wait_prev = f->wait_next = NULL;
}

/* Whoever wakes it first decides with what: a deadline and a wake in the same turn do not wake
 * twice. */
static void fiber_make_ready(struct fiber *f, int with)
{
    struct loop *l = f->loop;

    if (!f->waiting)
        return; /* woken already: a wait ends once */
    f->waiting = false;
    f->woken_with = with;
    if (f->cond)
        detach(&f->cond->first, &f->cond->last, f);
    f->cond = NULL;
    fiber_append(&l->ready_first, &l->ready_last, f);
    keep_turning(l);
}

/* Its stack is the next one's at once: of hundreds that begin and end in one turn, as many are
 * needed as wait in between. The fiber itself is freed later, when libuv has closed its timer. */
static void fiber_finish(struct fiber *f)
{
    stack_free(f->loop, take(f->map));
    unlink_all(f);
    uv_timer_stop(&f->timer);
    uv_close((uv_handle_t *)&f->timer, fiber_on_timer_closed);
}

/* A fiber has a stack from its first turn on. Without memory for a stack it waits until another
 * fiber has ended. */
static bool has_stack(struct fiber *f)
{
    if (f->map)
        return true;
    f->map = stack_new(f->loop);
    if (!f->map) {
        fiber_append(&f->loop->yield_first, &f->loop->yield_last, f);
        return false;
    }
    prepare_stack(f);
    return true;
}

/* The list is taken from the front while it may grow at its end: what is made ready meanwhile has
 * its turn in this round too, up to the limit. */
void fiber_run_ready(struct loop *l)
{
    for (int i = 0; i < TURN_LIMIT && l->ready_first; i++) {
        struct fiber *f = l->ready_first;

        detach(&l->ready_first, &l->ready_last, f);
        if (!has_stack(f))
            continue;
        fiber_enter(f);
        if (f->ended)
            fiber_finish(f);
    }
    while (l->yield_first) { /* their turn comes after the next poll */
        struct fiber *f = l->yield_first;

        detach(&l->yield_first, &l->yield_last, f);
        fiber_append(&l->ready_first, &l->ready_last, f);
    }
    if (!l->ready_first)
        uv_idle_stop(&l->busy);
}

/* ---- the interface ---- */

static void on_deadline(uv_timer_t *t)
{
    fiber_make_ready(t->data, -ETIMEDOUT);
}

/* The new fiber runs when the present one waits or ends, never inside this call: what the caller
 * sets up in the next lines is there when it begins. */
int fiber_start(struct loop *l, void (*fn)(void *arg), void *arg, struct fiber **ret,
                struct err *err)
{
    AUTO_FREE struct fiber *f = calloc(1, sizeof(*f));

    if (!f)
        return err_oom(err);
    if (!l->spare) { /* report a failure to allocate it now */
        char *map = stack_new(l);

        if (!map)
            return err_oom(err);
        stack_free(l, map);
    }
    f->loop = l;
    f->fn = fn;
    f->arg = arg;
    uv_timer_init(&l->uv, &f->timer);
    f->timer.data = f;
    f->next = l->all;
    if (l->all)
        l->all->prev = f;
    l->all = f;
    l->living++;
    fiber_append(&l->ready_first, &l->ready_last, f);
    keep_turning(l);
    if (ret)
        *ret = f;
    (void)take(f);
    return 0;
}

struct fiber *fiber_self(struct loop *l)
{
    return l->current;
}

struct fiber *fiber_next(struct fiber *f)
{
    return f->next;
}

/* Cancelling is remembered: a fiber that does not wait now is told at its next wait. */
void fiber_cancel(struct fiber *f)
{
    f->cancelled = true;
    if (!f->shields)
        fiber_make_ready(f, -ECANCELED);
}

bool fiber_cancelled(struct loop *l)
{
    return l->current && l->current->cancelled && !l->current->shields;
}

void fiber_shield(struct loop *l, bool on)
{
    if (on)
        l->current->shields++;
    else
        l->current->shields--;
}

/* uv_timer_start() counts from the time at which the turn began (uv_now()), so what is left is
 * counted from there too. By the real time the timer would fire too early in a long turn, and the
 * fiber would be told of a timeout before its deadline. */
static int park_until(struct fiber *f, int64_t deadline)
{
    if (deadline != LOOP_NEVER) {
        int64_t left = deadline - (int64_t)uv_now(&f->loop->uv);

        uv_timer_start(&f->timer, on_deadline, left > 0 ? (uint64_t)left : 0, 0);
    }
    f->waiting = true;
    park(f);
    if (deadline != LOOP_NEVER)
        uv_timer_stop(&f->timer);
    return f->woken_with;
}

/* In this order: who is cancelled hears of that first, and a deadline that has passed does not give
 * the others a turn. */
int cond_wait(struct loop *l, struct cond *c, int64_t deadline)
{
    struct fiber *f = l->current;

    assert(f && "only a fiber can wait");
    if (fiber_cancelled(l))
        return -ECANCELED;
    if (deadline != LOOP_NEVER && deadline <= loop_now(l))
        return -ETIMEDOUT;
    fiber_append(&c->first, &c->last, f);
    f->cond = c;
    return park_until(f, deadline);
}

void cond_wake(struct cond *c)
{
    if (c->first)
        fiber_make_ready(c->first, 0);
}

void cond_wake_all(struct cond *c)
{
    while (c->first)
        fiber_make_ready(c->first, 0);
}

/* In a list of its own: in the ready list it would run again before the loop has polled. */
int fiber_yield(struct loop *l)
{
    struct fiber *f = l->current;

    if (fiber_cancelled(l))
        return -ECANCELED;
    fiber_append(&l->yield_first, &l->yield_last, f);
    keep_turning(l);
    park(f);
    return fiber_cancelled(l) ? -ECANCELED : 0;
}

int fiber_sleep(struct loop *l, int64_t ms)
{
    struct cond never = { 0 };
    int r = cond_wait(l, &never, loop_in(l, ms));

    return r == -ETIMEDOUT ? 0 : r;
}
