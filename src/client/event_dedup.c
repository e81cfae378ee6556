/* event_dedup.c - see event_dedup.h */
#include "client/event_dedup.h"
#include "base/str.h"
#include "job/event.h"

/*     number 0 with another text       a new log: forget all that was seen
 *     far below `next`                 seen: what is so old was stored
 *     below `next`, the same text      seen
 *     below `next`, another text       the number of a record that was lost with its master, given
 *                                      to another one
 *     `next` or above                  new
 *
 * `hash` is a ring over the last EVENT_DEDUP_BACK numbers, so that memory does not grow with the
 * log. */
bool event_dedup_seen(struct event_dedup *s, const char *line, size_t n)
{
    uint64_t number, hash;

    if (!event_number(line, n, &number))
        return false;
    hash = str_hash(line, n);
    if (number == 0 && s->began && s->first != hash)
        s->next = 0;
    if (number == 0) {
        s->began = true;
        s->first = hash;
    }
    if (number + EVENT_DEDUP_BACK < s->next)
        return true;
    if (number < s->next && s->hash[number % EVENT_DEDUP_BACK] == hash)
        return true;
    s->hash[number % EVENT_DEDUP_BACK] = hash;
    if (number >= s->next)
        s->next = number + 1;
    return false;
}

uint64_t event_dedup_resume(struct event_dedup *s, const char *first, size_t n)
{
    uint64_t number;

    /* A log that begins with a summary stands for the records of old. */
    if (event_number(first, n, &number) && number == 0 &&
        (!s->began || s->first != str_hash(first, n))) {
        s->next = 0;
        s->began = false;
    }
    return event_dedup_from(s);
}

uint64_t event_dedup_from(const struct event_dedup *s)
{
    return s->next > EVENT_DEDUP_BACK ? s->next - EVENT_DEDUP_BACK : 0;
}
