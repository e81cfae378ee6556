/* outcome.c - two tables over failure classes: which exit code a job gets, and what to try. The
 * first row that fits counts, so the particular ones come first. See outcome.h. */
#include "job/engine/outcome.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TRY_AGAIN 75
#define LACKS 78 /* agent/tasks/activate.c */
#define TIME_LIMIT 124
#define NO_CONTAINER 125 /* what docker says of its own failures */
#define CANNOT_RUN 126
#define NOT_FOUND 127
#define SIGNAL_BASE 128

/* clang-format off */
/* The exit code of each class: `always` wins over the task's own, `without` stands in for none. */
static const struct {
    int always, without;
} exits[FAIL_CLASSES_] = {
    [FAIL_NONE]      = { .without = 1 },
    [FAIL_EXIT]      = { .without = 1 },
    [FAIL_SIGNAL]    = { .without = SIGNAL_BASE + SIGKILL },
    [FAIL_MEMORY]    = { .always = SIGNAL_BASE + SIGKILL },
    [FAIL_START]     = { .without = NOT_FOUND },
    [FAIL_FILES]     = { .without = 1 },
    [FAIL_PORT]      = { .without = TRY_AGAIN },
    [FAIL_DISK]      = { .without = TRY_AGAIN },
    [FAIL_NOT_READY] = { .always = TIME_LIMIT },
    [FAIL_LOG_LIMIT] = { .without = SIGNAL_BASE + SIGXFSZ },
    [FAIL_IMAGE]     = { .always = NO_CONTAINER },
    [FAIL_NODE]      = { .always = TRY_AGAIN },
    [FAIL_PREEMPTED] = { .always = TRY_AGAIN },
    [FAIL_PERSON]    = { .always = SIGNAL_BASE + SIGTERM },
};

/* The first row that fits; a code of 0 fits any. */
static const struct {
    enum fail_class cls;
    int code;
    const char *hint;
} hints[] = {
    { FAIL_EXIT, NOT_FOUND, "the command was not found: check its name and PATH, and that it is sent with the job (--files, --archives)" },
    { FAIL_EXIT, CANNOT_RUN, "the command cannot be run: check that it is executable (chmod +x), and that its first line or format suits that machine" },
    { FAIL_EXIT, SIGNAL_BASE + SIGKILL, "a process of the task was killed, often because memory ran out: give it more with --mem" },
    { FAIL_EXIT, SIGNAL_BASE + SIGSEGV, "a process of the task crashed (segmentation fault): "
                                        "often caused by native libraries that do not match" },
    { FAIL_EXIT, SIGNAL_BASE + SIGABRT, "a process of the task aborted: its last lines say why" },
    { FAIL_SIGNAL, SIGNAL_BASE + SIGKILL, "it was killed, often by the system because memory ran out: give it more with --mem" },
    { FAIL_SIGNAL, SIGNAL_BASE + SIGSEGV, "it crashed (segmentation fault): often caused by native libraries that do not match" },
    { FAIL_SIGNAL, SIGNAL_BASE + SIGBUS, "it crashed (bus error): often /dev/shm or a disk is full" },
    { FAIL_SIGNAL, SIGNAL_BASE + SIGILL, "it used an instruction that this processor does not have: it was built for another one" },
    { FAIL_SIGNAL, SIGNAL_BASE + SIGABRT, "it aborted: its last lines say why" },
    { FAIL_MEMORY, 0, "it used more memory than it asked for: give it more with --mem" },
    { FAIL_START, CANNOT_RUN, "the command cannot be run: check that it is executable (chmod +x), and that its first line or format suits that machine" },
    { FAIL_START, TRY_AGAIN, "nothing could be started in the container: see the node's log" },
    { FAIL_START, LACKS, "that machine does not have what the job requires; ydl uses no substitute" },
    { FAIL_START, NO_CONTAINER, "docker could not create the container: check that docker runs on that machine, that you may use it, and that the image is there or in its registry" },
    { FAIL_START, 0, "the command was not found: check its name and PATH, and that it is sent with the job (--files, --archives)" },
    { FAIL_FILES, 0, "a file of the job could not be put in place: check that it still exists and that you may read it" },
    { FAIL_PORT, 0, "a port could not be reserved: another program may be using it, or the port range may be too small" },
    { FAIL_DISK, 0, "the disk of the node is full or broken" },
    { FAIL_NOT_READY, 0, "it was not ready in time: raise ready.timeout, or find out what it waits for" },
    { FAIL_LOG_LIMIT, 0, "it wrote more output than allowed: write less, or raise log_limit" },
    { FAIL_IMAGE, 0, "check the image's name, that the nodes can pull it ('docker pull' there), and that they trust its registry (docker.trusted.registries)" },
    { FAIL_NODE, 0, "the machine or its container was lost: try again, or let the job recover with --restart" },
    { FAIL_PREEMPTED, 0, "the cluster took the container back for another job: let the job recover with --restart" },
};

static const struct {
    int signal;
    const char *name;
} signals[] = {
    { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGQUIT, "SIGQUIT" }, { SIGILL, "SIGILL" },
    { SIGTRAP, "SIGTRAP" }, { SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },
    { SIGKILL, "SIGKILL" }, { SIGUSR1, "SIGUSR1" }, { SIGSEGV, "SIGSEGV" }, { SIGUSR2, "SIGUSR2" },
    { SIGPIPE, "SIGPIPE" }, { SIGALRM, "SIGALRM" }, { SIGTERM, "SIGTERM" }, { SIGXCPU, "SIGXCPU" },
    { SIGXFSZ, "SIGXFSZ" },
};
/* clang-format on */

int failure_exit(enum fail_class cls, int code, int signal)
{
    if (exits[cls].always)
        return exits[cls].always;
    if (signal > 0)
        return SIGNAL_BASE + signal;
    /* A code that a shell cannot show must not become a success. */
    if (code <= 0 || code > 255)
        return exits[cls].without;
    return code;
}

const char *failure_hint(enum fail_class cls, int code, int signal)
{
    int shown = signal > 0 ? SIGNAL_BASE + signal : code;

    for (size_t i = 0; i < COUNT_OF(hints); i++)
        if (hints[i].cls == cls && (hints[i].code == 0 || hints[i].code == shown))
            return hints[i].hint;
    return NULL;
}

static const char *signal_name(int signal)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (signals[i].signal == signal)
            return signals[i].name;
    return "a signal";
}

static char *sentence(const struct failure *f, const char *task)
{
    if (f->cls == FAIL_SIGNAL || (f->cls == FAIL_EXIT && f->signal > 0))
        return str_printf("%s was ended by signal %d (%s)", task, f->signal,
                          signal_name(f->signal));
    if (f->cls == FAIL_EXIT)
        return str_printf("%s ended with exit code %d", task, f->code);
    return str_printf("%s: %s", task, fail_name(f->cls));
}

int failure_set(struct failure *f, const struct failure *from, const char *task)
{
    AUTO_FREE char *text = NULL, *lines = NULL;
    size_t n = from->lines ? strlen(from->lines) : 0;
    size_t skip = n > FAILURE_LINES_MAX ? n - FAILURE_LINES_MAX : 0;

    text = from->text ? strndup(from->text, FAILURE_TEXT_MAX) : sentence(from, task);
    if (n > 0)
        lines = strndup(from->lines + skip, n - skip);
    if (!text || (n > 0 && !lines))
        return -ENOMEM;
    failure_done(f);
    *f = *from;
    f->code = failure_exit(from->cls, from->code, from->signal);
    f->set = true;
    f->text = take(text);
    f->lines = take(lines);
    return 0;
}

void failure_done(struct failure *f)
{
    free(f->text);
    free(f->lines);
    *f = (struct failure){ .task = UINT32_MAX };
}
