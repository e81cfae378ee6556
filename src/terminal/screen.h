/* screen.h - standard output and standard error of a verb that follows a job: rendered lines, and
 * the live block below them.
 *
 * One fiber writes; everybody else hands over. A reader of our output that does not read makes
 * that fiber wait and nobody else, so that Ctrl-C is heard. With a live block lines are written
 * together with it, at most ten times a second. Loop thread only. */
#pragma once
#include "base/auto.h"
#include "base/json.h"
#include "loop/loop.h"
#include "terminal/stream_piece.h"

struct screen; /* opaque */

struct screen_options {
    struct loop *loop;
    bool live; /* draw a block, where standard error is a terminal that can */
    /* Makes the document for the block. *ret is the screen's. */
    int (*status)(void *user, json_t **ret);
    void *user;
};

/* *ret is the caller's: screen_end(), then screen_free(). */
int screen_new(const struct screen_options *o, struct screen **ret, struct err *err);
/* Gives up what is not written. NULL is fine; always NULL. */
struct screen *screen_free(struct screen *s);
AUTO_DEFINE(screen, struct screen *, screen_free);

/* "ydl: …" and a newline, on standard error; cleaned. */
int screen_note(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Is there a block to look at, on a terminal? */
bool screen_is_live(const struct screen *s);
/* The document has changed. */
void screen_changed(struct screen *s);
/* Waits while more than a little is not written yet. Fibers only. */
int screen_wait(struct screen *s);
/* Writes what is left, takes the block away and stops; gives up at the deadline. Fibers only. */
int screen_end(struct screen *s, int64_t deadline, struct err *err);

/* A show (output_lines.h) whose lines go to this screen, fit for what it is. The caller sets in `o`
 * what the user asked for: prefix, timestamps, collapse, json. */
struct show;
struct show_options;
int screen_show(struct screen *s, const struct show_options *o, struct show **ret, struct err *err);
