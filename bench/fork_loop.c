/* fork_loop.c - the floor: starts N processes of a command and waits for them, and nothing else.
 *
 *     fork_loop N COMMAND [ARGUMENT…]     prints the seconds it took
 *
 * Everything a launcher does beside this (ports, output files, groups, reports) is on top. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0, failed = 0;
    double start = now();
    int status;

    if (n <= 0) {
        (void)fprintf(stderr, "usage: fork_loop N COMMAND [ARGUMENT…]\n");
        return 2;
    }
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            execvp(argv[2], argv + 2);
            _exit(127);
        }
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    (void)printf("%.6f\n", now() - start);
    return failed ? 1 : 0;
}
