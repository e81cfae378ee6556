/* last_words.c - a handler may only do what is safe at any moment: it writes a text that was made
 * before, into memory that never moves. See last_words.h. */
#include "serve/engine/last_words.h"
#include "base/auto.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 1024

static const struct {
    int number;
    const char *name;
} deadly[] = { { SIGSEGV, " (SIGSEGV)\n" },
               { SIGBUS, " (SIGBUS)\n" },
               { SIGILL, " (SIGILL)\n" },
               { SIGFPE, " (SIGFPE)\n" },
               { SIGABRT, " (SIGABRT)\n" } };

/* Of the process, as its signals are. The text that counts is never written to. */
static char texts[2][TEXT_MAX];
static atomic_int present = -1;

static void last_words_say(int number)
{
    int i = atomic_load(&present);

    for (size_t k = 0; i >= 0 && k < COUNT_OF(deadly); k++) {
        if (deadly[k].number != number)
            continue;
        (void)!write(STDERR_FILENO, texts[i], strlen(texts[i]));
        (void)!write(STDERR_FILENO, deadly[k].name, strlen(deadly[k].name));
    }
    (void)raise(number); /* whose handler is the system's again */
}

static void last_words_arm(void)
{
    struct sigaction sa = { .sa_handler = last_words_say,
                            .sa_flags = (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK) };

    sigemptyset(&sa.sa_mask);
    for (size_t k = 0; k < COUNT_OF(deadly); k++)
        (void)sigaction(deadly[k].number, &sa, NULL);
}

void last_words_set(const char *program, const char *fmt, ...)
{
    int next = atomic_load(&present) == 0 ? 1 : 0;
    size_t n;
    va_list args;

    if (!fmt) {
        atomic_store(&present, -1);
        return;
    }
    (void)snprintf(texts[next], TEXT_MAX, "%s: ", program);
    n = strlen(texts[next]);
    va_start(args, fmt);
    (void)vsnprintf(texts[next] + n, TEXT_MAX - n, fmt, args);
    va_end(args);
    atomic_store(&present, next);
    last_words_arm();
}
