/* before.c - see before.h. The output waits in a file without a name. */
#include "cmd/front/before.h"
#include "cli/globals.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A file that nobody else can open. */
static int before_file(struct err *err)
{
    FILE *f = tmpfile();
    int fd = f ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 3) : -1;

    if (fd < 0)
        err_sys(err, "make a temporary file");
    if (f)
        (void)fclose(f);
    return fd;
}

static void before_show(int from, FILE *to)
{
    char piece[4096];
    ssize_t n;

    (void)lseek(from, 0, SEEK_SET);
    while ((n = read(from, piece, sizeof(piece))) > 0)
        (void)fwrite(piece, 1, (size_t)n, to);
    (void)fflush(to);
}

int before_run(const struct cli_program *program, char **argv, size_t n, bool json, bool quiet,
               struct err *err)
{
    AUTO_CLOSE int kept = before_file(err);
    AUTO_CLOSE int out = -1;
    int code;

    if (kept < 0)
        return -EIO;
    (void)fflush(stdout);
    out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (out < 0 || dup2(kept, STDOUT_FILENO) < 0)
        return err_sys(err, "keep standard output");
    code = globals_main(program, (int)n, argv);
    (void)fflush(stdout);
    if (dup2(out, STDOUT_FILENO) < 0)
        return err_sys(err, "get standard output back");
    if (code != 0)
        before_show(kept, stdout);
    else if (!json && !quiet)
        before_show(kept, stderr);
    return code;
}
