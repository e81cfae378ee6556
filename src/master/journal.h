/* journal.h - a log as a file, which is appended to. See journal.c. Loop thread only. */
#pragma once
#include "base/buf.h"
#include "job/event.h"
#include "loop/fiber.h"
#include <sys/types.h>

/* The events log: a file that is appended to, and who waits for more. */
struct journal {
    int fd;
    uint64_t size;     /* bytes in it: of the file, and held behind it */
    uint64_t in_file;  /* whole records that are written */
    uint64_t reserved; /* the disk has room for the file up to here */
    struct buf held;   /* what could not be written yet */
    unsigned round;    /* how often it began anew */
    struct cond grown;
    int failed;           /* why it cannot be written at the moment: the job goes on */
    uint64_t lost;        /* appends for which there was no room in memory either */
    bool last;            /* nothing but the last records is to come */
    uint64_t passed_over; /* records before this byte that are too long have been warned of */
};

int journal_open(struct journal *j, const char *path, struct err *err);
/* Writes what is held, if need be in the reserve; at least the last record. */
void journal_close(struct journal *j);
void journal_done(struct journal *j); /* closes it too */
/* Appends whole records and wakes the readers. On a full disk they are held, up to a limit: -ENOSPC
 * when they are lost. */
int journal_append(struct journal *j, const void *p, size_t n);
int journal_retry(struct journal *j); /* writes what is held; negative: it still cannot be */
void journal_last(struct journal *j); /* from now on only the last records come: they fit */
/* Bytes from `at` on, as many as fit; 0 at the end. */
ssize_t journal_read(const struct journal *j, uint64_t at, void *p, size_t n);
/* Whole records of the events log from *at on, which goes on behind them: how many bytes of `p`
 * (whose memory is used again and grows as far as a record needs), 0 at the end, negative when it
 * cannot be read. Records of more than EVENT_LINE_MAX bytes are passed over, each with one warning.
 */
#define JOURNAL_LINES_MAX (EVENT_LINE_MAX + 1)
ssize_t journal_lines(struct journal *j, uint64_t *at, struct buf *p);
void journal_restart(struct journal *j); /* it begins anew, empty */
