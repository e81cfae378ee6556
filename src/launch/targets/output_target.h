/* output_target.h - may results, or a model, be put there? Fibers only. */
#pragma once
#include "base/err.h"

struct fs_set;
struct session;

enum deploy_look {
    DEPLOY_LOOK,  /* changes nothing: asks the NameNode whether we may write there */
    DEPLOY_PROBE, /* at the submit: also makes an empty file and removes it again */
};

/* Can results be put at `uri`? It is a directory that we may write to, or it is not there and the
 * nearest directory above it is one. A probe finds what no bit shows: quotas, safe mode. -ENOTDIR,
 * -EACCES, -EROFS, -EDQUOT and others; the error names the place. */
int deploy_check_place(struct session *s, struct fs_set *set, const char *uri,
                       enum deploy_look look, struct err *err);
/* The same, with an error that says so of results. */
int deploy_check_target(struct session *s, struct fs_set *set, const char *uri,
                        enum deploy_look look, struct err *err);
