/* tee.c - copies standard error into a log file, as --log-file of the older programs promised. A
 * child does the copying, so that what is printed while the program ends is in the file too. */
#include "cmd/front/tee.h"
#include "base/path.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define WAIT_MS 2000

struct tee {
    int saved; /* what descriptor 2 was */
    pid_t child;
};

/* The copier. Ctrl-C is for the one who writes: it has more to say afterwards. */
__attribute__((noreturn)) static void tee_copy(int from, int file)
{
    char bytes[16 * KIB];
    ssize_t n;

    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    while ((n = read(from, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        (void)path_write_fd(STDERR_FILENO, bytes, (size_t)n);
        (void)path_write_fd(file, bytes, (size_t)n);
    }
    _exit(0);
}

int tee_start(const char *path, struct tee **ret, struct err *err)
{
    AUTO_CLOSE int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    AUTO_CLOSE int in = -1;
    AUTO_CLOSE int out = -1;
    AUTO_CLOSE int saved = -1;
    AUTO_FREE struct tee *t = calloc(1, sizeof(*t));
    int pair[2];

    if (file < 0)
        return err_sys(err, "log file '%s'", path);
    if (!t)
        return err_oom(err);
    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_sys(err, "make a pipe");
    in = pair[0];
    out = pair[1];
    saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    t->child = saved < 0 ? -1 : fork();
    if (t->child == 0) {
        close(out);
        tee_copy(in, file);
    }
    if (t->child < 0 || dup2(out, STDERR_FILENO) < 0)
        return err_sys(err, "copy standard error");
    t->saved = take_fd(saved);
    *ret = take(t);
    return 0;
}

struct tee *tee_stop(struct tee *t)
{
    if (!t)
        return NULL;
    (void)dup2(t->saved, STDERR_FILENO);
    close(t->saved);
    /* A job that goes on without us may hold the pipe: its copier then stays for it. */
    for (int ms = 0; ms < WAIT_MS && waitpid(t->child, NULL, WNOHANG) == 0; ms++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    free(t);
    return NULL;
}
