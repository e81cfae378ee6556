/* mode.h - permissions of files as people read and write them. Pure; any thread. */
#pragma once
#include "base/err.h"
#include "hadoop/hdfs/entry.h"

/* "drwxr-xr-x+": kind, nine permissions with s, S, t, T where they stand, a plus for an ACL. */
#define MODE_TEXT 12
const char *mode_text(const struct fs_entry *e, char out[MODE_TEXT]);

#define MODE_STEPS 16

/* A change that chmod makes, in the order it was written. */
struct mode_change {
    struct mode_step {
        char op;          /* '+', '-' or '=' */
        uint32_t who;     /* bits of the classes that are touched: 0700 | 04000 and so on */
        uint32_t bits;    /* within 07777, already cut to `who` */
        bool conditional; /* X: execute where it is a directory or somebody may execute */
        char copy;        /* 'u', 'g' or 'o': take that class's bits; 0 for none */
    } steps[MODE_STEPS];
    size_t n;
};

/* Octal ("644", "1777") or symbolic ("u+x,go-w", "a=rX", "g=u"). Without u, g, o or a it means
 * everybody, whatever the umask. -EINVAL with a sentence. */
int mode_parse(const char *text, struct mode_change *ret, struct err *err);

/* The permission bits after the change. */
uint32_t mode_apply(const struct mode_change *c, uint32_t mode, bool directory);
