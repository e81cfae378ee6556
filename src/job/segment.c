/* segment.c - names of segments, strictly: digits without leading zeroes, so that each has one
 * name. Records that two segments both have, because a writer could not know whether the first
 * was written, are known by their numbers. See segment.h. */
#include "job/segment.h"
#include "base/str.h"
#include "job/event.h"

#include <errno.h>
#include <string.h>

#define HEAD_BYTES 160 /* the kind of a record and its first field stand within */

/* Digits only, and no zero before them: each segment has one name. */
static bool number_at(const char **at, int64_t most, int64_t *ret)
{
    const char *p = *at;

    if (p[0] == '0' && p[1] >= '0' && p[1] <= '9')
        return false;
    for (*ret = 0; *p >= '0' && *p <= '9'; p++) {
        *ret = *ret * 10 + (*p - '0');
        if (*ret > most)
            return false;
    }
    if (p == *at)
        return false;
    *at = p;
    return true;
}

bool segment_parse(const char *name, const char *head, const char *tail, struct segment *ret)
{
    size_t n = strlen(head);
    int64_t attempt, number = 0;
    const char *at;

    if (!str_starts(name, head) || name[n] != '-')
        return false;
    at = name + n + 1;
    if (!number_at(&at, SEGMENT_ATTEMPTS_MAX, &attempt) || attempt == 0)
        return false;
    if (at[0] == '.' && at[1] >= '0' && at[1] <= '9') {
        at++;
        if (!number_at(&at, INT32_MAX, &number))
            return false;
    }
    if (at[0] != '.' || strcmp(at + 1, tail) != 0)
        return false;
    *ret = (struct segment){ .attempt = (int)attempt, .number = (unsigned)number };
    return true;
}

char *segment_name(const char *head, const char *tail, const struct segment *s)
{
    return s->number == 0 ? str_printf("%s-%d.%s", head, s->attempt, tail)
                          : str_printf("%s-%d.%u.%s", head, s->attempt, s->number, tail);
}

int segment_compare(const struct segment *a, const struct segment *b)
{
    if (a->attempt != b->attempt)
        return a->attempt < b->attempt ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* The number that follows `mark` near the beginning of a line: 1, 0 when there is no mark, -EINVAL
 * when it is followed by something else. */
static int number_after(const char *line, size_t n, const char *mark, int64_t max, int64_t *ret)
{
    char head[HEAD_BYTES * 2 + 1];
    size_t len = n < sizeof(head) - 1 ? n : sizeof(head) - 1;
    const char *at;

    memcpy(head, line, len);
    head[len] = '\0';
    at = strstr(head, mark);
    if (!at)
        return 0;
    at += strlen(mark);
    return number_at(&at, max, ret) ? 1 : -EINVAL;
}

/* The attempt of a master's first record; 0 for any other. */
static int64_t begins_master(const char *line, size_t n)
{
    int64_t attempt;

    return number_after(line, n, ",\"event\":\"master\",\"attempt\":", SEGMENT_ATTEMPTS_MAX,
                        &attempt) > 0
               ? attempt
               : 0;
}

bool segment_is_summary(const char *line, size_t n)
{
    static const char mark[] = ",\"event\":\"summary\"";
    uint64_t seq;

    return !event_number(line, n, &seq) &&
           memmem(line, n < HEAD_BYTES ? n : HEAD_BYTES, mark, sizeof(mark) - 1) != NULL;
}

/* The number of the first record that a summary does not stand for, where this line says it. */
static uint64_t summary_next(const char *line, size_t n, uint64_t otherwise)
{
    int64_t next;

    return number_after(line, n, ",\"what\":\"job\",\"next\":", INT64_MAX / 16, &next) > 0
               ? (uint64_t)next
               : otherwise;
}

int segment_head_line(struct segment_head *h, const char *line, size_t n)
{
    int64_t records;
    int r;

    if (!segment_is_summary(line, n))
        return 1;
    h->n++;
    h->next = summary_next(line, n, h->next);
    r = number_after(line, n, ",\"what\":\"end\",\"records\":", INT32_MAX, &records);
    if (r == 0)
        return 0;
    h->whole = r > 0 && records == h->n;
    return 1;
}

/* Older masters began with copies of what was before them. */
int segment_begin_line(struct segment_begin *b, const char *line, size_t n)
{
    uint64_t seq;

    if (!event_number(line, n, &seq))
        return 0;
    if (begins_master(line, n) == b->attempt)
        b->at = seq;
    return 1;
}

bool segment_is_beyond(const char *line, size_t n, uint64_t end)
{
    uint64_t seq;

    return event_number(line, n, &seq) && seq >= end;
}

uint64_t segment_want(const char *line, size_t n, uint64_t from)
{
    if (!segment_is_summary(line, n))
        return from;
    return summary_next(line, n, UINT64_MAX) <= from ? from : 0;
}

const char *segment_skip(const char *lines, size_t n, uint64_t from)
{
    const char *stop = lines + n, *end;
    uint64_t seq;

    while (lines < stop && (end = memchr(lines, '\n', (size_t)(stop - lines))) != NULL) {
        size_t len = (size_t)(end - lines);

        if (event_number(lines, len, &seq) ? seq >= from
                                           : from == 0 || !segment_is_summary(lines, len))
            break;
        lines = end + 1;
    }
    return lines;
}

bool segment_seen_before(struct segment_seen *s, const char *line, size_t n)
{
    int64_t attempt = begins_master(line, n);
    uint64_t seq;

    if (!event_number(line, n, &seq))
        return false;
    if (attempt > s->attempt) {
        s->attempt = attempt;
        s->next = seq;
    }
    if (seq < s->next)
        return true;
    s->next = seq + 1;
    return false;
}
