/* output_lines.h - the output of many tasks as lines for people: `worker:1│ loss 0.31`.
 *
 * Pieces go in, whole lines come out, never mixed. A line longer than SHOW_LINE_MAX comes in
 * several parts; one that is not finished within SHOW_WAIT_MS is shown as far as it is. When the
 * next line is of the same task, such a line continues where it stopped; before a line of another
 * task it is ended. Without prefixes nothing else is added or changed, so one stream of one task
 * comes out exactly as it was written.
 *
 * On a terminal bytes are made safe (sanitize.h) and no line stays open; elsewhere they pass as
 * they are. Pure: the clock is the caller's, and what is made goes to a function of the caller's.
 * One fiber. */
#pragma once
#include "base/auto.h"
#include "base/json.h"
#include "terminal/stream_piece.h"
#include <stdbool.h>

#define SHOW_LINE_MAX (64 * KIB)
#define SHOW_WAIT_MS 1000
#define SHOW_BAR_MS 5000 /* the same for a progress bar, which would fill the screen */

/* Gets one or more rendered lines for standard output or standard error. Not 0: the call that led
 * here returns it. */
typedef int show_sink(void *user, enum piece_stream stream, const void *p, size_t n);

struct show_options {
    bool prefix;
    bool timestamps;
    bool collapse; /* see collapse.h */
    bool json;   /* {"output": {"task", "stream", "text"}} for each line, all to standard output */
    bool joined; /* standard output and error are one file */
    bool ascii;  /* the terminal knows no UTF-8 */
    struct {
        bool terminal, colour;
    } to[2];      /* by enum piece_stream */
    int64_t wall; /* milliseconds to add to the caller's clock for the time of day */
    show_sink *sink;
    void *user;
};

struct show; /* opaque */

/* `o` is copied. *ret is the caller's. -ENOMEM. */
int show_new(const struct show_options *o, struct show **ret);
struct show *show_free(struct show *s); /* without show_end() what is not finished is lost */
AUTO_DEFINE(show, struct show *, show_free);

/* Makes a task known: the prefixes are as wide as the longest name, colours follow this order. A
 * task that was not made known is, with its first output. -EINVAL for what is no task's name. */
int show_task(struct show *s, const char *task);
/* The same for the first tasks of each role of a job's first record; counts all of them. */
int show_roles(struct show *s, const json_t *roles, size_t *ret_tasks);

int show_piece(struct show *s, const struct piece *p, int64_t now); /* PIECE_OUTPUT, PIECE_END */
/* Where the next byte of a stream would stand: behind the last piece. */
uint64_t show_offset(const struct show *s, const char *task, enum piece_stream stream);
/* Where the file begins that the last piece was of (its `began`): so many bytes were in others. 0
 * also while there was none since show_earlier(): the files may be all that there is. */
uint64_t show_file(const struct show *s, const char *task, enum piece_stream stream);
/* The start of the task, counted from 1, that this file begins with; 0 while there was no piece. */
uint32_t show_began(const struct show *s, const char *task, enum piece_stream stream);
/* What no piece brought of the files before the present one: their agents had left. Nothing is
 * missing for certain in one that is empty, but an agent may have saved more than it had sent. */
struct show_gap {
    uint64_t from, to; /* in the stream */
};
/* The i-th of a stream; false: there are no more. */
bool show_gap(const struct show *s, const char *task, enum piece_stream stream, size_t i,
              struct show_gap *ret);
bool show_has_gaps(const struct show *s);
/* A file in HDFS: its number there, 0 elsewhere, and how long it is. */
struct show_saved {
    uint64_t id, size;
};
/* So many bytes of the stream were in files that no piece comes of: they were shown, or left out.
 * The next piece continues behind them, whatever offset its sender gives. Should its file begin
 * with the `last` of them, as it says by that one's number, these bytes are not shown again. */
int show_earlier(struct show *s, const char *task, enum piece_stream stream, uint64_t bytes,
                 struct show_saved last);
/* The pieces that come now begin again where their sender likes: bytes that were shown already are
 * left out, and each stream continues at its offset. */
void show_resume(struct show *s);
/* Skips nothing in this stream: its sender already starts after the bytes that were shown. */
void show_resume_none(struct show *s, const char *task, enum piece_stream stream);
/* The job was started over: its tasks write new streams, and nothing of those was shown yet. */
int show_begin_anew(struct show *s, int64_t now);
int show_tick(struct show *s, int64_t now);
int show_end(struct show *s, int64_t now);   /* everything that is left, finished or not */
int64_t show_deadline(const struct show *s); /* when show_tick() wants to be called, or INT64_MAX */
