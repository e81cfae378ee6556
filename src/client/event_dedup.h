/* event_dedup.h - which records of an events log were seen already, for a reader of several masters
 * one after the other.
 *
 * Records are numbered. A master that died may have sent records that it had not stored; the next
 * one gives their numbers to others. So a record is known by its number and its text, as far back
 * as EVENT_DEDUP_BACK; what is older was kept. A master that found no record of the one before it
 * starts the job over: its record 0 is another one, and its whole log is new. Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_DEDUP_BACK 1024

struct event_dedup {
    uint64_t next;  /* behind the highest number so far */
    uint64_t first; /* the hash of record 0, once it came */
    bool began;     /* it did */
    uint64_t hash[EVENT_DEDUP_BACK];
};

/* Was this record (a line without its newline) seen before? Remembers it. A line without a number
 * was not. */
bool event_dedup_seen(struct event_dedup *s, const char *line, size_t n);
/* From where the next master is to be asked. */
uint64_t event_dedup_from(const struct event_dedup *s);
/* The same once its log's first line is known: 0 when that log began anew, so that none of the
 * numbers seen so far mean anything in it. */
uint64_t event_dedup_resume(struct event_dedup *s, const char *first, size_t n);
