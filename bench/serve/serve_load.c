/* serve_load.c - asks a server the same thing again and again, and says how long it took.
 *
 *     serve_load PORT CONNECTIONS SECONDS RATE REQUEST-FILE
 *
 * The file has a whole HTTP request. With a RATE (requests a second) the loop is open: each request
 * has a time at which it is due, and what it took counts from then on, also when no connection was
 * free, because the server was slow: so a server that stands still cannot hide it (coordinated
 * omission). With RATE 0 each connection asks again as soon as it has its answer, which gives the
 * highest rate. The first tenth of the time is not counted. Prints one line of JSON. */
#include "base/auto.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#define ANSWER_MAX (16 * MIB)
#define SAMPLES_MAX ((size_t)16 * 1000 * 1000)
#define EVENTS 64

struct peer {
    int fd;
    char *answer;
    size_t got;
    int64_t due; /* when its request should have been sent */
    bool busy;
};

struct load {
    const char *request;
    size_t request_size;
    struct peer *peers;
    size_t n;
    int epoll;
    int64_t begun, counted, end; /* nanoseconds */
    double interval;             /* between requests that are due; 0: closed loop */
    uint64_t sent;               /* requests that were due so far */
    uint32_t *samples;           /* 0.1 microseconds */
    size_t n_samples;
    uint64_t statuses[600], broken;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void connect_peer(struct load *l, struct peer *p, int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = p };
    int one = 1;

    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        die("connect");
    (void)setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    p->answer = malloc(ANSWER_MAX);
    if (!p->answer || epoll_ctl(l->epoll, EPOLL_CTL_ADD, p->fd, &e) < 0)
        die("watch a connection");
}

static void load_send(struct load *l, struct peer *p, int64_t due)
{
    size_t done = 0;

    p->due = due;
    p->busy = true;
    p->got = 0;
    while (done < l->request_size) {
        ssize_t n = send(p->fd, l->request + done, l->request_size - done, MSG_NOSIGNAL);

        if (n < 0)
            die("send");
        done += (size_t)n;
    }
}

/* The bytes of the whole answer, once its head is there; 0 before. */
static size_t answer_size(struct peer *p)
{
    const char *end = memmem(p->answer, p->got, "\r\n\r\n", 4);
    const char *length;

    if (!end)
        return 0;
    p->answer[p->got] = '\0';
    length = strcasestr(p->answer, "\r\ncontent-length:");
    if (!length || length > end)
        return (size_t)(end + 4 - p->answer);
    return (size_t)(end + 4 - p->answer) + strtoul(length + 17, NULL, 10);
}

static void note_answer(struct load *l, struct peer *p)
{
    int64_t now = now_ns();
    unsigned long status = strtoul(p->answer + 9, NULL, 10);

    p->busy = false;
    if (p->due < l->counted || now > l->end)
        return;
    l->statuses[status < COUNT_OF(l->statuses) ? status : 0]++;
    if (l->n_samples < SAMPLES_MAX)
        l->samples[l->n_samples++] = (uint32_t)((now - p->due) / 100);
}

static void read_answer(struct load *l, struct peer *p)
{
    ssize_t n = recv(p->fd, p->answer + p->got, ANSWER_MAX - 1 - p->got, MSG_DONTWAIT);
    size_t whole;

    if (n <= 0) {
        fprintf(stderr, "serve_load: a connection ended\n");
        exit(1);
    }
    p->got += (size_t)n;
    whole = answer_size(p);
    if (whole == 0 || p->got < whole)
        return;
    note_answer(l, p);
    if (l->interval == 0)
        load_send(l, p, now_ns());
}

/* What is due goes to connections that are free. Returns how long nothing is due. */
static int64_t send_due(struct load *l)
{
    for (;;) {
        int64_t due = l->begun + (int64_t)((double)l->sent * l->interval);
        struct peer *free_one = NULL;

        if (due > now_ns())
            return due - now_ns();
        /* In turn: a server need not keep a connection that is not used. */
        for (size_t i = 0; i < l->n && !free_one; i++) {
            struct peer *p = &l->peers[(l->sent + i) % l->n];

            free_one = p->busy ? NULL : p;
        }
        if (!free_one)
            return 1000000;
        load_send(l, free_one, due);
        l->sent++;
    }
}

static void load_run(struct load *l)
{
    struct epoll_event events[EVENTS];

    for (size_t i = 0; i < l->n && l->interval == 0; i++)
        load_send(l, &l->peers[i], now_ns());
    while (now_ns() < l->end) {
        int64_t wait = l->interval > 0 ? send_due(l) : 100000000;
        struct timespec t = { .tv_nsec = wait < 100000000 ? wait : 100000000 };
        int n = epoll_pwait2(l->epoll, events, EVENTS, &t, NULL);

        for (int i = 0; i < n; i++)
            read_answer(l, events[i].data.ptr);
    }
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static double at(const struct load *l, double part)
{
    return l->n_samples ? l->samples[(size_t)((double)(l->n_samples - 1) * part)] / 10.0 : 0;
}

static void report(struct load *l)
{
    double seconds = (double)(l->end - l->counted) / 1e9;

    qsort(l->samples, l->n_samples, sizeof(*l->samples), by_size);
    printf("{\"rate\": %.1f, \"p50_us\": %.1f, \"p95_us\": %.1f, \"p99_us\": %.1f, "
           "\"max_us\": %.1f, \"statuses\": {",
           (double)l->n_samples / seconds, at(l, .5), at(l, .95), at(l, .99), at(l, 1));
    for (size_t i = 0, first = 1; i < COUNT_OF(l->statuses); i++)
        if (l->statuses[i]) {
            printf("%s\"%zu\": %llu", first ? "" : ", ", i, (unsigned long long)l->statuses[i]);
            first = 0;
        }
    printf("}}\n");
}

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "re");
    char *p = malloc(ANSWER_MAX);

    if (!f || !p)
        die(path);
    *ret_n = fread(p, 1, ANSWER_MAX, f);
    (void)fclose(f);
    return p;
}

int main(int argc, char **argv)
{
    struct load l = { 0 };
    double seconds, rate;

    if (argc != 6) {
        fprintf(stderr, "usage: serve_load PORT CONNECTIONS SECONDS RATE REQUEST-FILE\n");
        return 2;
    }
    l.n = strtoul(argv[2], NULL, 10);
    seconds = strtod(argv[3], NULL);
    rate = strtod(argv[4], NULL);
    l.request = read_file(argv[5], &l.request_size);
    l.peers = calloc(l.n, sizeof(*l.peers));
    l.samples = malloc(SAMPLES_MAX * sizeof(*l.samples));
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!l.peers || !l.samples || l.epoll < 0)
        die("begin");
    for (size_t i = 0; i < l.n; i++)
        connect_peer(&l, &l.peers[i], (int)strtol(argv[1], NULL, 10));
    l.interval = rate > 0 ? 1e9 / rate : 0;
    l.begun = now_ns();
    l.counted = l.begun + (int64_t)(seconds * 1e8);
    l.end = l.begun + (int64_t)(seconds * 1e9);
    load_run(&l);
    report(&l);
    return 0;
}
