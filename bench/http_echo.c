/* http_echo.c - the floor for what stands between a client and a server: an HTTP server that does
 * nothing, and a client that sends at a constant rate and measures each answer from the moment at
 * which its request was due, so that a slow answer is not hidden by requests that were never sent.
 *
 *     http_echo serve            prints its port; ends with its standard input
 *     http_echo ask PORT RATE N  prints p50 and p99 in microseconds */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char request[] = "POST /v2/models/m/infer HTTP/1.1\r\nHost: bench\r\n"
                              "Content-Length: 4\r\n\r\nbody";
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             "Content-Length: 2\r\n\r\n{}";

/* Reads up to an empty line and `body` bytes. 0 when the other side closed. */
static int read_message(int fd, size_t body)
{
    char text[8192];
    size_t n = 0;

    for (;;) {
        ssize_t got = read(fd, text + n, sizeof(text) - 1 - n);
        const char *end;

        if (got <= 0)
            return 0;
        n += (size_t)got;
        text[n] = '\0';
        end = strstr(text, "\r\n\r\n");
        if (end && n >= (size_t)(end + 4 - text) + body)
            return 1;
        if (end && !memcmp(text, "GET ", 4))
            return 1;
    }
}

static void *serve_one(void *arg)
{
    int fd = (int)(intptr_t)arg, one = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    while (read_message(fd, 4) && write(fd, answer, sizeof(answer) - 1) > 0)
        ;
    close(fd);
    return NULL;
}

static void *end_with_input(void *arg)
{
    char c;

    (void)arg;
    while (read(0, &c, 1) > 0)
        ;
    _exit(0);
}

static int serve(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t t;

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 128) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0 ||
        pthread_create(&t, NULL, end_with_input, NULL) != 0)
        return 1;
    printf("%d\n", ntohs(a.sin_port));
    (void)fflush(stdout);
    for (;;) {
        int c = accept(fd, NULL, NULL);

        if (c >= 0 && pthread_create(&t, NULL, serve_one, (void *)(intptr_t)c) == 0)
            pthread_detach(t);
    }
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int ask(int port, int64_t rate, size_t n)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    int64_t *took = calloc(n, sizeof(*took)), due;

    a.sin_port = htons((uint16_t)port);
    if (!took || fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        return 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    due = now_ns();
    for (size_t i = 0; i < n; i++) {
        struct timespec t = { due / 1000000000, due % 1000000000 };

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        /* Waking up is not the server's time; being late with a request is. */
        took[i] = now_ns() - due < 1000000 ? now_ns() : due;
        if (write(fd, request, sizeof(request) - 1) < 0 || !read_message(fd, 2))
            return 1;
        took[i] = now_ns() - took[i];
        due += 1000000000 / rate;
    }
    qsort(took, n, sizeof(*took), order);
    printf("%.1f %.1f\n", (double)took[n / 2] / 1000, (double)took[n * 99 / 100] / 1000);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    if (argc == 5 && strcmp(argv[1], "ask") == 0)
        return ask((int)strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10),
                   strtoul(argv[4], NULL, 10));
    (void)fputs("usage: http_echo serve | http_echo ask PORT RATE N\n", stderr);
    return 2;
}
