/* slider_store.h - definitions on this machine or in HDFS. Fibers only. */
#pragma once
#include "cmd/slider/slider_call.h"
#include "cmd/slider/slider_files.h"
#include "cmd/slider/slider_model.h"
#include "hadoop/fs/fs.h"

int slider_store_open(struct slider *s, struct err *err);
void slider_store_close(struct slider *s);

/* The names of all definitions, sorted. */
int slider_store_list(struct slider *s, struct strs *ret, struct err *err);
/* 1 when there is one of that name, 0 when not. */
int slider_store_has(struct slider *s, const char *name, struct err *err);
/* All its documents. -ENOENT (SLIDER_UNKNOWN) when there is none, SLIDER_NOT_OURS for one that
 * lacks some of them, CLI_USAGE for one that is damaged. */
#define SLIDER_NOT_OURS (-EBADMSG)
int slider_store_read(struct slider *s, const char *name, struct slider_docs *ret, struct err *err);
/* Goes on to the next one after a definition of these two kinds: 0 and a note, otherwise `r`. */
int slider_store_skip(struct slider *s, const char *name, int r, struct err *err);
/* One file of it, replaced at once for whoever reads it. */
int slider_store_write(struct slider *s, const char *name, const char *file, const json_t *v,
                       struct err *err);
/* The whole of a new one, which appears at once; leaves nothing when it fails. -EEXIST
 * (SLIDER_EXISTS) when there is one, made a moment ago perhaps. */
int slider_store_put(struct slider *s, const char *name, const struct slider_docs *d,
                     const struct slider_package *package, struct err *err);
/* The same for one that is there; with `package` NULL its package stays. */
int slider_store_replace(struct slider *s, const char *name, const struct slider_docs *d,
                         const struct slider_package *package, struct err *err);
int slider_there_already(struct slider *s, const char *name, struct err *err); /* says so */
/* (slider_busy.c) While it is started or replaced nobody else does that: -EBUSY (SLIDER_IN_USE)
 * when somebody is at it. */
int slider_store_lock(struct slider *s, const char *name, struct err *err);
void slider_store_unlock(struct slider *s, const char *name);
int slider_store_remove(struct slider *s, const char *name, struct err *err);
/* Where a file of it is, as a job names it: a path here, a URI on the cluster. The caller's. */
int slider_store_uri(struct slider *s, const char *name, const char *file, char **ret,
                     struct err *err);
/* "definition.tar" or "definition.zip": the one that is there. */
const char *slider_archive(const struct slider_docs *d);
