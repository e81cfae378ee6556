/* output_lines_private.h - what output_lines.c (pieces to lines) and output_line.c (lines to text)
 * share. */
#pragma once
#include "terminal/collapse.h"
#include "terminal/output_lines.h"

/* One stream of one task. */
struct source {
    struct lane *lane;
    enum piece_stream stream;
    struct buf label;    /* what its lines begin with, made for … */
    unsigned width;      /* … names of so many columns; 0: not made yet */
    struct buf part;     /* a line that is not finished */
    bool waiting;        /* in the list of those … */
    struct source *next; /* … that have something in `part`, oldest first */
    int64_t since;
    uint64_t offset;       /* of the next byte */
    uint64_t skip;         /* bytes before this one were shown already, see show_resume() */
    uint32_t began;        /* which file of the task's they are of, see struct piece */
    uint64_t before;       /* bytes of earlier files that `offset` does not count */
    uint64_t file_at;      /* where that file begins, with those: see show_file() */
    struct show_gap *gaps; /* see show_gap() */
    size_t n_gaps;
    bool begins;            /* the next piece is the first of its file: see show_earlier() */
    struct show_saved last; /* … which may begin with this one */
    uint64_t collapsed;     /* collapse.h's memory */
};

struct lane {
    char name[PIECE_TASK_MAX], role[PIECE_TASK_MAX];
    uint32_t rank;
    unsigned number; /* order in which it became known */
    struct source from[2];
    struct lane *next;
};

struct show {
    struct show_options o;
    struct lane *lanes;
    struct lane **slots; /* hash table of n_slots, a power of two */
    size_t n_slots, n_lanes;
    unsigned width; /* of the longest name */
    struct source *wait_first, *wait_last;
    struct collapse *collapse;
    struct source *open[2]; /* whose line has no end yet, by the stream it was written to */
    struct buf out;         /* rendered, not handed over yet … */
    enum piece_stream to;   /* … and where it goes */
};

enum show_how { SHOW_UNFINISHED, SHOW_FINISHED };

/* Renders a line, or a part of one, or has it held for others of the same text. */
int show_line(struct show *s, struct source *f, const char *p, size_t n, enum show_how how,
              int64_t now);
int show_collapsed(void *show, const struct collapse_line *line); /* a collapse_fn */
int show_close(struct show *s);                                   /* ends the lines that are open */
int show_put(struct show *s);                                     /* hands over what is rendered */
