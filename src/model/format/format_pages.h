/* format_pages.h - a file of any size read here and there, through one window of PAGES_WINDOW
 * bytes. Private to this directory. */
#pragma once
#include "model/format/recognise.h"

#define PAGES_WINDOW (64 * KIB)

struct pages {
    const struct format_tree *tree;
    size_t file;
    uint64_t size;  /* of the file */
    uint64_t at;    /* where the window begins */
    size_t n;       /* bytes in it */
    uint8_t *data;  /* NULL until the first read */
    uint64_t steps; /* that are left: FORMAT_FIELDS at first */
    int failed;     /* a read failed, as `err` says; all later ones fail too */
    struct err err;
};

struct pages pages_of(const struct format_tree *t, size_t file);
void pages_done(struct pages *p);

/* `n` bytes, at most PAGES_WINDOW, from `at`; borrowed until the next call. NULL when they are not
 * all in the file, or reading failed. */
const uint8_t *pages_get(struct pages *p, uint64_t at, size_t n);
/* One step; false when there were too many. */
bool pages_step(struct pages *p);
/* -ENOMEM, or what reading said; 0 when nothing failed. */
int pages_failed(const struct pages *p, struct err *err);

#define AUTO_PAGES AUTO_DONE(pages_done) struct pages
