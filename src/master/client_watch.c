/* client_watch.c - the client that a job is attached to: when it does not come, or does not come
 * back, the job is stopped.
 *
 * A client that dies closes its connection, which tells at once. One that a master before us knew,
 * or whose network failed, comes back by itself, as soon as the ResourceManager tells it where we
 * are: time in which that does not answer us does not count, as it answers nobody else either. */
#include "master/master_private.h"

#define COMES_MS 60000 /* that the client has */
#define LOOK_MS 1000
#define SILENCE_MS 3000 /* of the ResourceManager */

static bool can_find_us(const struct master *m)
{
    return platform_silence(m->platform) < SILENCE_MS;
}

static void run_client_watch(void *arg)
{
    struct master *m = arg;
    int64_t left = COMES_MS;

    while (left > 0 && !m->client.n && !m->ended && fiber_sleep(m->loop, LOOK_MS) == 0)
        left -= can_find_us(m) ? LOOK_MS : 0;
    if (left <= 0 && !m->client.n && !m->ended)
        api_client_gone(m);
    m->client.watcher = NULL;
}

int client_watch(struct master *m, struct err *err)
{
    return m->client.watcher ? 0
                             : fiber_start(m->loop, run_client_watch, m, &m->client.watcher, err);
}

/* What the network does; a process that ends is heard of otherwise. */
static bool client_is_network(int code)
{
    return code == -ETIMEDOUT || code == -EHOSTUNREACH || code == -ENETUNREACH;
}

void client_watch_broken(struct master *m, int code)
{
    if (m->ended || code == -ECANCELED || m->client.n) /* it is back already */
        return;
    if (!client_is_network(code) || client_watch(m, NULL) < 0)
        api_client_gone(m);
}
