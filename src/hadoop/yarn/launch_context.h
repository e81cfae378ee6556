/* launch_context.h - what a container is to run: its command, environment, files and tokens.
 *
 * A launch context is a protobuf message on the heap that these functions fill; message_free() or
 * AUTO_MESSAGE ends it. One context may be used for many containers. Everything is copied. Pure. */
#pragma once
#include "base/err.h"
#include "hadoop/yarn.pb-c.h"
#include "hadoop/yarn/message.h"

/* Empty; NULL when out of memory. */
Yarn__ContainerLaunchContext *yarn_launch_new(void);

/* ---- the command ----
 * YARN joins what is added by spaces. Begin with "exec" so that signals reach the program itself,
 * and end with where its output goes: YARN keeps none that is not sent to a file. */

/* Shell text: "exec", "1><LOG_DIR>/stdout", "cd x && ./run \"$HOME\"". */
int yarn_launch_script(Yarn__ContainerLaunchContext *c, const char *text, struct err *err);

/* ---- the environment ----
 * A name that bash cannot export is refused with -EINVAL. The NodeManager overrides its own
 * (CONTAINER_ID, HOME, PWD, USER, LOG_DIRS, …). */

int yarn_launch_env(Yarn__ContainerLaunchContext *c, const char *name, const char *value,
                    struct err *err);

/* ---- files ---- */

struct yarn_file {
    const char *url;   /* "hdfs://ns/path", "hdfs://host:8020/path", "file:///path" */
    int64_t size;      /* shown only */
    int64_t timestamp; /* its modification time in ms, exactly as its file system says */
    bool archive;      /* unpack it: .jar .zip .tar .tgz .tar.gz by its name */
    Yarn__LocalResourceVisibility visibility; /* 0 means APPLICATION */
};

/* Makes the file appear as `name` in the work directory; `name` may have directories in it. A name
 * (or a last part of the url) that the launch script would read as shell text is -EINVAL. */
int yarn_launch_file(Yarn__ContainerLaunchContext *c, const char *name,
                     const struct yarn_file *file, struct err *err);
/* The same as a record of its own. *ret is the caller's. */
int yarn_file_resource(const char *name, const struct yarn_file *file,
                       Yarn__StringLocalResourceMap **ret, struct err *err);

/* ---- the rest ---- */

/* The bytes of a credentials file (version 0): the container's own tokens. */
int yarn_launch_tokens(Yarn__ContainerLaunchContext *c, const void *p, size_t n, struct err *err);

/* Counts in the master's context only. `acl` is "user,user group,group"; "*" for everybody, " " for
 * nobody but the owner. */
int yarn_launch_acl(Yarn__ContainerLaunchContext *c, Yarn__ApplicationAccessType type,
                    const char *acl, struct err *err);

/* Restarts by the NodeManager itself, in the same container. */
struct yarn_retry {
    Yarn__ContainerRetryPolicy policy;
    const int32_t *codes; /* exit codes, for RETRY_ON_SPECIFIC_ERRORS */
    size_t n_codes;
    int32_t max; /* -1 forever */
    int32_t interval_ms;
    int64_t window_ms; /* count only failures within it; 0 for all */
};
int yarn_launch_retry(Yarn__ContainerLaunchContext *c, const struct yarn_retry *retry,
                      struct err *err);
