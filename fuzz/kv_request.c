/* kv_request.c - requests of tasks to the job's key-value store. A line is a request: a byte for
 * the task, then words between blanks; the clock ticks with every line. Each request is answered at
 * most once. */
#include "fuzz.h"
#include "rendezvous/kv.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX 512

struct event_dedup {
    unsigned char answered[REQUESTS_MAX];
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct event_dedup *s = user;

    (void)task;
    if (id >= REQUESTS_MAX || s->answered[id]++ || n == 0 || words[0].n == 0)
        abort();
}

static void on_progress(void *user, uint32_t task, int64_t step, int64_t total, const char *metrics)
{
    (void)user;
    (void)task;
    if (step < 0 || total < 0 || metrics[0] != '{' || metrics[strlen(metrics) - 1] != '}')
        abort();
}

static unsigned on_role_size(void *user, uint32_t task)
{
    (void)user;
    return task % 4;
}

static size_t split(const uint8_t *p, size_t n, struct kv_word words[KV_WORDS_MAX + 1])
{
    size_t count = 0;

    while (count <= KV_WORDS_MAX) {
        const uint8_t *blank = n ? memchr(p, ' ', n) : NULL;
        size_t len = blank ? (size_t)(blank - p) : n;

        words[count++] = (struct kv_word){ p, len };
        if (!blank)
            break;
        p += len + 1;
        n -= len + 1;
    }
    return count;
}

static void ask(struct kv *k, const uint8_t *p, size_t n, uint64_t id)
{
    struct kv_word words[KV_WORDS_MAX + 1];
    uint32_t task = n ? p[0] % 8 : 0;

    if (n && p[0] == '!')
        kv_forget(k, n > 1 ? p[1] % 8 : 0);
    else if (n && p[0] == '%')
        kv_generation(k);
    else if (n)
        (void)kv_request(
            k, &(struct kv_ask){ task, id, words, split(p + 1, n - 1, words), (int64_t)id }, NULL);
    if (kv_deadline(k) <= (int64_t)id)
        kv_on_time(k, (int64_t)id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event_dedup seen = { { 0 } };
    struct kv_events on = { &seen, on_reply, on_progress, on_role_size };
    AUTO_KV *k = NULL;

    if (kv_new(&on, &k, NULL) < 0)
        return 0;
    for (uint64_t id = 0; size && id < REQUESTS_MAX; id++) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end ? (size_t)(end - data) : size;

        ask(k, data, n, id);
        n += end != NULL;
        data += n;
        size -= n;
    }
    return 0;
}
