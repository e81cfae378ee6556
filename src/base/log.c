/* log.c - one line of the log in one write. See log.h.
 *
 * The one place with state of the whole program: what is shown and under which name. It is set at
 * the start, read by any thread, and every line leaves in a single write(2), so that lines of
 * threads and of processes that share a terminal never mix. */
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const level_names[] = { "error", "warn", "info", "trace" };
static const char *const part_names[LOG_PARTS_] = {
    [LOG_MAIN] = "main",         [LOG_LOOP] = "loop",
    [LOG_CONF] = "conf",         [LOG_RPC] = "rpc",
    [LOG_SASL] = "sasl",         [LOG_TOKEN] = "token",
    [LOG_YARN] = "yarn",         [LOG_HDFS] = "hdfs",
    [LOG_WIRE] = "wire",         [LOG_JOB] = "job",
    [LOG_MASTER] = "master",     [LOG_AGENT] = "agent",
    [LOG_PLATFORM] = "platform", [LOG_RENDEZVOUS] = "rendezvous",
};

#define ALL_PARTS ((1U << LOG_PARTS_) - 1)
#define NAME_MAX_ 64
#define TEXT_MAX 2048
#define LINE_MAX_ (2 * TEXT_MAX)

static struct {
    atomic_int level;
    atomic_uint traced;   /* a bit per part */
    pthread_mutex_t lock; /* of the two names */
    char program[NAME_MAX_];
    char job[NAME_MAX_];
} state = { .level = LOG_LEVEL_WARN, .lock = PTHREAD_MUTEX_INITIALIZER, .program = "ydl" };

static void set_name(char *name, const char *value)
{
    pthread_mutex_lock(&state.lock);
    str_clean(name, NAME_MAX_, value ? value : "");
    pthread_mutex_unlock(&state.lock);
}

/* The prefix of the text: "ydl: warn: rpc: ", with time or job where there is one. */
static size_t begin_line(char *line, size_t cap, enum log_part part, enum log_level level)
{
    struct timespec now;
    char when[32] = "";
    int n;

    if (level == LOG_LEVEL_TRACE) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(when, sizeof(when), " %lld.%06ld", (long long)now.tv_sec, now.tv_nsec / 1000);
    }
    pthread_mutex_lock(&state.lock);
    n = snprintf(line, cap, "%s: %s%s: %s: %s%s%s", state.program, level_names[level], when,
                 part_names[part], state.job[0] ? "[" : "", state.job, state.job[0] ? "] " : "");
    pthread_mutex_unlock(&state.lock);
    return n > 0 ? (size_t)n : 0;
}

static void write_line(const char *line, size_t n)
{
    while (n > 0) {
        ssize_t w = write(STDERR_FILENO, line, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return; /* nobody is left to tell */
        line += w;
        n -= (size_t)w;
    }
}

bool log_on(enum log_part part, enum log_level level)
{
    if (level == LOG_LEVEL_TRACE &&
        (atomic_load_explicit(&state.traced, memory_order_relaxed) & 1U << part))
        return true;
    return (int)level <= atomic_load_explicit(&state.level, memory_order_relaxed);
}

/* errno is kept: callers log between a failed call and the look at its reason. The text is cleaned
 * as a whole, so that no message, whatever a server put into it, can write a second line or drive a
 * terminal. */
void log_write(enum log_part part, enum log_level level, const char *fmt, ...)
{
    char text[TEXT_MAX], line[LINE_MAX_];
    int saved = errno;
    va_list ap;
    size_t n;

    if (!log_on(part, level))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    n = begin_line(line, sizeof(line), part, level);
    n += str_clean(line + n, sizeof(line) - n - 1, text);
    line[n++] = '\n';
    write_line(line, n);
    errno = saved;
}

static int log_index_of(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

static void trace_one(const char *word, unsigned *mask)
{
    bool off = *word == '-';
    const char *name = word + off, *near;
    unsigned bits = ALL_PARTS;
    int i;

    if (strcmp(name, "all") != 0) {
        i = log_index_of(part_names, LOG_PARTS_, name);
        if (i < 0) {
            near = str_nearest(name, part_names, LOG_PARTS_);
            log_warn(LOG_MAIN, "YDL_TRACE: unknown component '%s'%s%s%s, ignoring", name,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
            return;
        }
        bits = 1U << i;
    }
    *mask = off ? *mask & ~bits : *mask | bits;
}

static void read_trace(const char *text)
{
    AUTO_STRS words = { 0 };
    unsigned mask = 0;

    if (strs_split(&words, text, ",") < 0) {
        log_warn(LOG_MAIN, "YDL_TRACE: out of memory, ignoring");
        return;
    }
    for (size_t i = 0; i < words.n; i++)
        trace_one(words.v[i], &mask);
    atomic_store(&state.traced, mask);
}

void log_init(const char *program)
{
    const char *level = getenv("YDL_LOG"), *traced = getenv("YDL_TRACE");
    int i;

    set_name(state.program, program);
    if (level && *level) {
        i = log_index_of(level_names, LOG_LEVEL_INFO + 1, level);
        if (i < 0)
            log_warn(LOG_MAIN, "YDL_LOG: unknown level '%s' (error, warn, info), ignoring", level);
        else
            log_set_level((enum log_level)i);
    }
    if (traced && *traced)
        read_trace(traced);
}

void log_set_level(enum log_level level)
{
    atomic_store(&state.level, (int)level);
}

void log_set_job(const char *job_id)
{
    set_name(state.job, job_id);
}
