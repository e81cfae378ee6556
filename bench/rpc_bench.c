/* rpc_bench.c - how fast calls to a ResourceManager are, on one connection.
 *
 *     rpc_bench CALLS AT_ONCE     that many getClusterMetrics, so many in flight
 *     rpc_bench --page            what `ydl cluster info` asks, on a connection that is open
 *
 * Finds the cluster by HADOOP_CONF_DIR. Prints one line of JSON: calls, milliseconds, processor
 * milliseconds. The connection and a tenth of the calls before are not counted. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/rm_client.h"
#include "loop/fiber.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct bench {
    struct loop *loop;
    struct yarn_client *client;
    int64_t calls, at_once;
    int64_t left; /* calls nobody has taken yet */
    bool page;
    struct err err;
};

static double ms_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int metrics(struct bench *b, struct err *err)
{
    AUTO_RPC Yarn__GetClusterMetricsResponse *answer = NULL;

    return yarn_metrics(b->client, &answer, err);
}

static int take_calls(void *arg, struct err *err)
{
    struct bench *b = arg;
    int r = 0;

    while (r == 0 && b->left-- > 0)
        r = metrics(b, err);
    return r;
}

static int ask_metrics(void *arg, struct err *err)
{
    return metrics(arg, err);
}

static int ask_nodes(void *arg, struct err *err)
{
    AUTO_RPC Yarn__GetClusterNodesResponse *answer = NULL;
    struct bench *b = arg;

    return yarn_nodes(b->client, NULL, 0, &answer, err);
}

static int ask_queues(void *arg, struct err *err)
{
    AUTO_YARN_QUEUE *root = NULL;
    struct bench *b = arg;

    return yarn_queue(b->client, NULL, true, &root, err);
}

static int run_page(struct bench *b)
{
    struct group g;

    group_init(&g, b->loop, 0);
    (void)group_go(&g, ask_metrics, b, &b->err);
    (void)group_go(&g, ask_nodes, b, &b->err);
    (void)group_go(&g, ask_queues, b, &b->err);
    return group_wait(&g, &b->err);
}

static int run_calls(struct bench *b, int64_t calls)
{
    struct group g;
    int r = 0;

    if (b->page)
        return run_page(b);
    b->left = calls;
    group_init(&g, b->loop, 0);
    for (int64_t i = 0; r == 0 && i < b->at_once; i++)
        r = group_go(&g, take_calls, b, &b->err);
    return group_wait(&g, &b->err);
}

static int run(void *arg)
{
    struct bench *b = arg;
    struct session_options options = { .caller = "ydl bench" };
    AUTO_SESSION *session = NULL;
    double wall, cpu;
    int r = session_new(b->loop, &options, &session, &b->err);

    if (r == 0)
        r = yarn_client_new(session, &b->client, &b->err);
    if (r == 0)
        r = run_calls(b, b->calls / 10 + 1);
    wall = ms_of(CLOCK_MONOTONIC);
    cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);
    if (r == 0)
        r = run_calls(b, b->calls);
    if (r == 0)
        printf("{\"calls\": %lld, \"ms\": %.3f, \"cpu_ms\": %.3f}\n", (long long)b->calls,
               ms_of(CLOCK_MONOTONIC) - wall, ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    else
        fprintf(stderr, "rpc_bench: %s\n", b->err.text);
    yarn_client_free(b->client);
    return r;
}

int main(int argc, char **argv)
{
    struct bench b = { .calls = 3, .at_once = 3 };
    int r;

    log_init("rpc_bench");
    b.page = argc == 2 && strcmp(argv[1], "--page") == 0;
    if (!b.page && (argc != 3 || str_to_i64(argv[1], 1, 100000000, &b.calls) < 0 ||
                    str_to_i64(argv[2], 1, 10000, &b.at_once) < 0)) {
        fprintf(stderr, "usage: rpc_bench CALLS AT_ONCE | --page\n");
        return 2;
    }
    if (loop_new(&b.loop, &b.err) < 0)
        return 1;
    r = loop_run(b.loop, run, &b, true);
    loop_free(b.loop);
    return r < 0;
}
