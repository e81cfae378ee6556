/* serve_floor.c - what no server can be faster than: the model's own run, called from C with
 * nothing around it, and bytes that go through loopback and come back.
 *
 *     serve_floor LIBRARY MODEL SERVER-CORE CLIENT-CORE REQUEST-BYTES ANSWER-BYTES
 *
 * The echo and the model are on the first core, where the server is, and who asks is on the other.
 * Prints one line of JSON: medians in microseconds. */
#include "base/auto.h"
#include "serve/backend/backend.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define ROUNDS 20000

struct echo {
    int listener, core;
    size_t in, out;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "serve_floor: %s\n", what);
    exit(1);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static double median_us(int64_t *v)
{
    qsort(v, ROUNDS, sizeof(*v), by_time);
    return (double)v[ROUNDS / 2] / 1e3;
}

static void go_to_core(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

static bool all(int fd, char *p, size_t n, bool out)
{
    while (n > 0) {
        ssize_t r = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);

        if (r <= 0)
            return false;
        p += r;
        n -= (size_t)r;
    }
    return true;
}

static void *echo_serve(void *arg)
{
    struct echo *e = arg;
    char *p = calloc(1, e->in + e->out);
    int fd, one = 1;

    go_to_core(e->core);
    fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    while (p && all(fd, p, e->in, false) && all(fd, p, e->out, true))
        ;
    close(fd);
    free(p);
    return NULL;
}

static double measure_echo(struct echo *e, int64_t *times)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof(a);
    char *p = calloc(1, e->in + e->out);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    pthread_t thread;

    e->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!p || bind(e->listener, (struct sockaddr *)&a, n) < 0 || listen(e->listener, 1) < 0 ||
        getsockname(e->listener, (struct sockaddr *)&a, &n) < 0 ||
        pthread_create(&thread, NULL, echo_serve, e) != 0 ||
        connect(fd, (struct sockaddr *)&a, n) < 0)
        die("no echo");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = now_ns();

        if (!all(fd, p, e->in, true) || !all(fd, p, e->out, false))
            die("the echo ended");
        times[i] = now_ns() - start;
    }
    close(fd);
    pthread_join(thread, NULL);
    close(e->listener);
    free(p);
    return median_us(times);
}

static double measure_run(const char *library, const char *path, int64_t *times)
{
    const struct backend_ops *ops = &backend_onnxruntime;
    const struct backend_load load = { .path = path, .threads = 1, .device = "cpu" };
    AUTO_SIGNATURE s = { 0 };
    AUTO_TENSORS in = { 0 };
    struct err err = ERR_INIT;
    const char *version;
    struct tensor *t;
    void *lib, *model, *p;
    int64_t dims[TENSOR_DIMS_MAX];

    if (ops->open(library, &lib, &version, &err) < 0 || ops->load(lib, &load, &model, &err) < 0 ||
        ops->signature(model, &s, &err) < 0)
        die(err.text);
    memcpy(dims, s.inputs.v[0].dims, sizeof(dims));
    dims[0] = 1;
    if (tensors_add(&in, &t, &err) < 0 ||
        tensor_init(t, s.inputs.v[0].name, s.inputs.v[0].type, dims, s.inputs.v[0].rank, &err) <
            0 ||
        tensor_alloc(t, &p, &err) < 0)
        die(err.text);
    for (size_t i = 0; i < t->count; i++)
        ((float *)p)[i] = (float)i / (float)t->count;
    for (int i = 0; i < ROUNDS; i++) {
        struct tensors out = { 0 };
        int64_t start = now_ns();

        if (ops->run(model, &in, &out, &err) < 0)
            die(err.text);
        times[i] = now_ns() - start;
        tensors_done(&out);
    }
    ops->unload(model);
    return median_us(times);
}

int main(int argc, char **argv)
{
    static int64_t times[ROUNDS];
    struct echo e;
    double run, echo;

    if (argc != 7)
        die("usage: serve_floor LIBRARY MODEL SERVER-CORE CLIENT-CORE REQUEST-BYTES ANSWER-BYTES");
    e = (struct echo){ .core = (int)strtol(argv[3], NULL, 10),
                       .in = strtoul(argv[5], NULL, 10),
                       .out = strtoul(argv[6], NULL, 10) };
    go_to_core((int)strtol(argv[4], NULL, 10));
    echo = measure_echo(&e, times);
    go_to_core(e.core);
    run = measure_run(argv[1], argv[2], times);
    printf("{\"run_us\": %.1f, \"echo_us\": %.1f}\n", run, echo);
    return 0;
}
