/* stream_piece.h - the master's stream of events and output, taken apart.
 *
 * A piece is a line of JSON and, when it says "len", that many bytes behind its newline
 * (doc/reference/api.md draws it). The bytes are handed on as they come, however many there are; a
 * line may have PIECE_LINE_MAX bytes. Anything else is refused with -EPROTO. Pure; any thread. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "job/event.h"

#define PIECE_LINE_MAX (EVENT_LINE_MAX + 64) /* a record and what stands around it */
#define PIECE_TASK_MAX 48                    /* a task's name with its NUL */

enum piece_stream { PIECE_OUT, PIECE_ERR };

enum piece_kind {
    PIECE_EVENT,  /* `record`: one line of the events log */
    PIECE_OUTPUT, /* `data`: bytes of a stream */
    PIECE_END,    /* a stream has ended, or nothing more of it is available */
};

/* What came. Everything is borrowed until the next call. */
struct piece {
    enum piece_kind kind;
    const char *task; /* "worker:1" */
    enum piece_stream stream;
    uint64_t offset; /* of data[0] in the stream */
    uint32_t began;  /* the start of the task that its file begins with; 0: the first, or unknown */
    uint64_t saved;  /* number of the file in HDFS that has the beginning of its file; 0: none */
    const char *data;
    size_t n;
    const char *record; /* its text, record_n bytes: for history_apply(), which checks it */
    size_t record_n;
    const char *missing; /* why this end is not that of the stream; NULL: it is */
};

struct pieces {
    struct buf in;
    size_t eaten;   /* bytes of `in` that were handed on */
    uint64_t left;  /* bytes of the present piece that are still to come */
    struct piece p; /* the present one */
    char task[PIECE_TASK_MAX];
    json_t *line;
    char *record;
};

void pieces_init(struct pieces *s);
void pieces_done(struct pieces *s);

#define AUTO_PIECES AUTO_DONE(pieces_done) struct pieces /* = { 0 }; then pieces_init() */

/* Adds bytes from the stream. Take what is there with pieces_next() before more are added. */
int pieces_feed(struct pieces *s, const void *p, size_t n, struct err *err);
/* 1 and the next piece, or 0 when more bytes are needed. */
int pieces_next(struct pieces *s, struct piece *ret, struct err *err);

/* Takes "worker:12" apart; false when it is no task's name. *ret_role is the length of the role. */
bool piece_task(const char *name, size_t *ret_role, uint32_t *ret_rank);
