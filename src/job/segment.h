/* segment.h - a log in segments: their names, and each of its records once. Pure.
 *
 *     events-2.jsonl      the first segment of the second master of a job
 *     events-2.1.jsonl    its next one: the first could not be written any more
 *
 * Whoever lists or writes such files uses the names from here. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_ATTEMPTS_MAX 1000000 /* masters of one job */

struct segment {
    int attempt;     /* of the master, from 1 */
    unsigned number; /* from 0 */
};

/* Is `name` one of the log HEAD-….TAIL? */
bool segment_parse(const char *name, const char *head, const char *tail, struct segment *ret);
/* NULL: out of memory. */
char *segment_name(const char *head, const char *tail, const struct segment *s);
/* As for qsort(): the order in which they were written. */
int segment_compare(const struct segment *a, const struct segment *b);

/* Is it a line of a summary (job/engine/engine_summary.c)? */
bool segment_is_summary(const char *line, size_t n);
/* Whether a segment begins with a whole summary: shown its lines from the first on, until it
 * returns other than 0. */
struct segment_head {
    int64_t n;     /* lines so far */
    uint64_t next; /* the number of the first record that it does not stand for */
    bool whole;
};
int segment_head_line(struct segment_head *h, const char *line, size_t n);

/* The number with which a master's records begin, who read those of the masters before it up to
 * there: shown the lines of one of its segments from the first on, until it returns other than 0.
 * A master that was replaced may go on writing for a while, into a segment that its successor never
 * saw: what it numbers like this or higher did not happen. */
struct segment_begin {
    int attempt; /* whose segment it is */
    uint64_t at; /* stays as it is when the segment does not say */
};
int segment_begin_line(struct segment_begin *b, const char *line, size_t n);
bool segment_is_beyond(const char *line, size_t n, uint64_t end);

/* For a reader who wants the records from `from` on, of a log that may begin with a summary: the
 * number to look for. It is 0, all that there is, when the summary (its first line, `line`) stands
 * for records that are wanted; otherwise its lines are as little news as the records before `from`.
 */
uint64_t segment_want(const char *line, size_t n, uint64_t from);
/* The first of these whole lines that is wanted, or their end. */
const char *segment_skip(const char *lines, size_t n, uint64_t from);

/* Which records of an events log were read already. A segment whose write failed may hold more than
 * its master knew, so the next one repeats records; and older masters began theirs with all that
 * had been written before them. The first record of a master ("event":"master") says by its number
 * how far it had read: later numbers are new. */
struct segment_seen {
    int64_t attempt; /* of the master whose records are being read */
    uint64_t next;   /* behind the highest number so far */
};
/* Whether this record (a line without its newline) was seen before; remembers it. A line without a
 * number was not. */
bool segment_seen_before(struct segment_seen *s, const char *line, size_t n);
