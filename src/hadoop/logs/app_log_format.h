/* app_log_format.h - one way in which YARN keeps aggregated logs: a table of functions. Private to
 * this directory.
 *
 * Both formats hold, for one node, the log files of the containers that ran there. They are gone
 * through in order; the bytes of a file can be read while it is the present one. Fibers only where
 * the source waits. */
#pragma once
#include "hadoop/logs/source.h"

/* Longest names taken from a file; NodeManagers write file names of at most 255 bytes. */
#define LOG_NAME_MAX 256

struct log_item {
    const char *container; /* borrowed until the next one; so is the name */
    const char *name;      /* never "", ".", "..", and without slashes */
    uint64_t length;
    int64_t mtime; /* milliseconds since 1970; 0 where the format does not keep it */
};

struct log_about {
    const char *app; /* the application's id as text */
    uint64_t end;    /* only what lies before counts: the rest was being added when it stopped */
};

struct log_format {
    const char *name;
    /* Whether a file that begins with these bytes is one. */
    bool (*is)(const uint8_t head[32], const struct log_about *about);
    /* *ret is the caller's: close(). The source is borrowed until then. */
    int (*open)(const struct log_source *s, const struct log_about *about, void **ret,
                struct err *err);
    int (*next)(void *file, struct log_item *ret, struct err *err); /* 1, or 0 at the end */
    ssize_t (*read)(void *file, void *p, size_t n, struct err *err);
    void (*close)(void *file);
};

extern const struct log_format log_tfile, log_ifile;

/* The format of a source, by its first bytes; -EBADMSG when it is not one. */
int log_format_find(const struct log_source *s, const struct log_about *about,
                    const struct log_format **ret, struct err *err);

/* Copies a name out of a file. -EBADMSG when it cannot be the name of a log or a container. */
int log_name(const void *p, size_t n, char out[LOG_NAME_MAX], struct err *err);
