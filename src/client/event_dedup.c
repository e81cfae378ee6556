/* event_dedup.c - see event_dedup.h */
#include "client/event_dedup.h"
#include "job/event.h"

static uint64_t hash_of(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3ULL;
    return h;
}

bool seen_before(struct seen *s, const char *line, size_t n)
{
    uint64_t number, hash;

    if (!event_number(line, n, &number))
        return false;
    if (number + SEEN_BACK < s->next)
        return true;
    hash = hash_of(line, n);
    if (number < s->next && s->hash[number % SEEN_BACK] == hash)
        return true;
    s->hash[number % SEEN_BACK] = hash;
    if (number >= s->next)
        s->next = number + 1;
    return false;
}

uint64_t seen_from(const struct seen *s)
{
    return s->next > SEEN_BACK ? s->next - SEEN_BACK : 0;
}
