/* uploads_private.h - what the files of uploads.h share. */
#pragma once
#include "uploads/uploads.h"

/* What is being looked for, and where. */
struct uploads_search {
    const struct spec *spec;
    const struct uploads_options *options;
    struct uploads_list *list;
    struct spec_faults *faults;
    char *cwd;        /* its real path */
    bool failed;      /* a fault was added */
    bool overflowing; /* more is found than may be: said once */
};

void uploads_item_done(struct uploads_item *item);
/* Adds an item; takes its strings over, also when it fails. 0 or -ENOMEM. */
int uploads_push(struct uploads_list *l, struct uploads_item item);

/* Adds a fault. 0, so that the search goes on, or -ENOMEM. */
int uploads_refuse(struct uploads_search *s, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Those that travel: place `cluster`. */
bool uploads_travels(const struct spec_role *role);

/* Whether YARN can unpack a file of this name. */
bool uploads_can_unpack(const char *name);
/* Where a file is that the job names as `from`: item->from and ->remote. Sets s->failed. */
int uploads_place(struct uploads_search *s, const char *key, const char *from,
                  struct uploads_item *item);

/* ---- uploads_env.c ---- */
int uploads_find_env(struct uploads_search *s);

/* ---- uploads_found.c ---- */
int uploads_find_words(struct uploads_search *s, const struct spec_role *role);

/* ---- uploads_notes.c ---- */
/* A note when scripts that were found name, in quotes, files of the working directory that do not
 * travel. */
int uploads_note_left(struct uploads_search *s);

/* ---- uploads_words.c: pure except for a look at the disk ---- */

/* The words of a command that may name files, those within `sh -c TEXT` and behind `=` too. */
int uploads_words(const struct strs *command, struct strs *ret);
/* A relative path without "." and ".." in it; NULL when `word` is none below the directory it is
 * relative to, or is that directory. -ENOMEM otherwise. *ret is the caller's. */
int uploads_tidy(const char *word, char **ret);
/* Whether the command runs a module by its name: python -m NAME. */
bool uploads_runs_module(const struct strs *command);
