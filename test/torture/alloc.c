/* alloc.c - the allocator that fails once, linked into every unit test of the torture preset.
 *
 *     YDL_TORTURE_N      the allocation that fails, counted from 1; without it none does
 *     YDL_TORTURE_OUT    a file that gets "COUNT FIRED": how many were asked for, whether one
 * failed YDL_TORTURE_TRACE  when set, the stack of the failing allocation goes to standard error
 *
 * The linker's --wrap turns our calls and those of the archives linked in into these. Shared
 * libraries (glibc, cmocka) keep their own allocator.
 *
 * After the failure a test usually ends at an assertion, and cmocka jumps out of it. The frames
 * it jumps over never free what they own, so a leak check afterwards would cry wolf on every one.
 * So that jump is caught here, the leak check runs while the frames still stand, and the process
 * ends at once with EXIT_ASSERTION, or with the sanitizer's own code when something leaked. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXIT_ASSERTION 3
#define EXIT_SANITIZER 66 /* what the runner's ASAN_OPTIONS say, too */

static unsigned long fail_at, count;
static bool fired;
static pid_t owner;
static _Thread_local bool spared;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t n);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t n);
/* abort() in a test's own file, by a macro on the compiler's command line: its way to assert. */
__attribute__((noreturn)) void ydl_torture_abort(void);
void ydl_torture_spare_thread(void); /* see test.h */
__attribute__((noreturn, visibility("default"))) void __longjmp_chk(struct __jmp_buf_tag env[1],
                                                                    int value);

/* libuv ends the process where it cannot report that memory ran out: it gets the real ones. */
int uv_replace_allocator(void *(*)(size_t), void *(*)(void *, size_t), void *(*)(size_t, size_t),
                         void (*)(void *)) __attribute__((weak));
/* OpenSSL loses memory of its own when its set-up or a look-up of an algorithm fails half-way. What
 * our code has to deal with is that a context cannot be made: only those allocations can fail. */
int CRYPTO_set_mem_functions(void *(*)(size_t, const char *, int),
                             void *(*)(void *, size_t, const char *, int),
                             void (*)(void *, const char *, int)) __attribute__((weak));

/* ---- the count ---- */

static bool refuse(void)
{
    unsigned long n = spared ? 0 : __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);

    if (!n || n != fail_at)
        return false;
    fired = true;
    if (getenv("YDL_TORTURE_TRACE"))
        __sanitizer_print_stack_trace();
    errno = ENOMEM;
    return true;
}

void ydl_torture_spare_thread(void)
{
    spared = true;
}

static void report(void)
{
    const char *path = getenv("YDL_TORTURE_OUT");
    FILE *f;

    if (!path || getpid() != owner)
        return; /* a child that a test forked has a count of its own, which nobody wants */
    f = fopen(path, "we");
    if (!f)
        return;
    fprintf(f, "%lu %d\n", count, fired);
    fclose(f);
}

static void *openssl_malloc(size_t n, const char *file, int line)
{
    static const char *const contexts[] = { "evp/digest.c", "evp/evp_enc.c", "evp/mac_lib.c",
                                            "hmac/hmac.c" };

    (void)line;
    for (size_t i = 0; file && i < sizeof(contexts) / sizeof(contexts[0]); i++) {
        if (strstr(file, contexts[i]) && refuse())
            return NULL;
    }
    return n ? __real_malloc(n) : NULL;
}

static void *openssl_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return __real_realloc(p, n);
}

static void openssl_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    free(p);
}

__attribute__((constructor)) static void start(void)
{
    const char *n = getenv("YDL_TORTURE_N");

    owner = getpid();
    fail_at = n ? strtoul(n, NULL, 10) : 0;
    if (uv_replace_allocator)
        uv_replace_allocator(__real_malloc, __real_realloc, __real_calloc, free);
    if (CRYPTO_set_mem_functions)
        CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free);
    pthread_atfork(NULL, NULL, ydl_torture_spare_thread); /* a child is a test's fake, or execs */
    atexit(report);
}

/* ---- the allocations ---- */

void *__wrap_malloc(size_t n)
{
    return refuse() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refuse() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
    return refuse() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
    return refuse() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
    return refuse() ? NULL : __real_strndup(s, n);
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
    return refuse() ? -1 : __real_vasprintf(ret, fmt, ap);
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = __wrap_vasprintf(ret, fmt, ap);
    va_end(ap);
    return r;
}

/* Fibers' stacks, kept for the leak check, which does not know them: what only a variable of a
 * fiber holds would count as lost. */
static struct map {
    void *p;
    size_t n;
} maps[256];

static void remember(void *was, void *p, size_t n)
{
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        if (maps[i].p == was) {
            maps[i] = (struct map){ p, n };
            return;
        }
    }
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    bool anonymous = flags & MAP_ANONYMOUS;
    void *p = anonymous && refuse() ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, offset);

    if (anonymous && p != MAP_FAILED)
        remember(NULL, p, n);
    return p;
}

int __wrap_munmap(void *p, size_t n)
{
    remember(p, NULL, 0);
    return __real_munmap(p, n);
}

/* ---- the end ---- */

/* While a fiber runs, the sanitizer takes its stack for the thread's and misses the main one. */
static void add_main_stack(void)
{
    char line[512];
    unsigned long from, to;
    FILE *f = fopen("/proc/self/maps", "re");

    while (f && fgets(line, sizeof(line), f)) {
        char *dash = strchr(line, '-');

        if (!dash || !strstr(line, "[stack]"))
            continue;
        from = strtoul(line, NULL, 16);
        to = strtoul(dash + 1, NULL, 16);
        __lsan_register_root_region((void *)from, to - from);
    }
    if (f)
        fclose(f);
}

static void add_fiber_stacks(void)
{
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        if (maps[i].p)
            __lsan_register_root_region(maps[i].p, maps[i].n);
    }
}

/* Ends the process if what the test complains about comes after the failure. */
static void end_if_fired(void)
{
    if (!fired || getpid() != owner)
        return;
    report();
    fflush(NULL);
    add_main_stack();
    add_fiber_stacks();
    _exit(__lsan_do_recoverable_leak_check() ? EXIT_SANITIZER : EXIT_ASSERTION);
}

void ydl_torture_abort(void)
{
    end_if_fired();
    abort();
}

void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
{
    void (*real)(struct __jmp_buf_tag *, int) = NULL;

    end_if_fired();
    *(void **)&real = dlsym(RTLD_NEXT, "__longjmp_chk");
    real(env, value);
    __builtin_unreachable();
}
