/* event_dedup.c - see event_dedup.h */
#include "client/event_dedup.h"
#include "job/event.h"

static uint64_t event_dedup_hash_of(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3ULL;
    return h;
}

bool event_dedup_seen(struct event_dedup *s, const char *line, size_t n)
{
    uint64_t number, hash;

    if (!event_number(line, n, &number))
        return false;
    if (number + EVENT_DEDUP_BACK < s->next)
        return true;
    hash = event_dedup_hash_of(line, n);
    if (number < s->next && s->hash[number % EVENT_DEDUP_BACK] == hash)
        return true;
    s->hash[number % EVENT_DEDUP_BACK] = hash;
    if (number >= s->next)
        s->next = number + 1;
    return false;
}

uint64_t event_dedup_from(const struct event_dedup *s)
{
    return s->next > EVENT_DEDUP_BACK ? s->next - EVENT_DEDUP_BACK : 0;
}
