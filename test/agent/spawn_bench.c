/* spawn_bench.c - the floor for starting processes: fork, exec, wait, N times, output into files.
 * Prints milliseconds. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    char *args[] = { argv[argc > 2 ? 2 : 0], NULL };
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            int fd = open("/dev/null", O_RDWR);

            dup2(fd, 0);
            dup2(fd, 1);
            execv(args[0], args);
            _exit(127);
        }
    }
    while (wait(NULL) > 0)
        ;
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.1f\n", (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
    return 0;
}
