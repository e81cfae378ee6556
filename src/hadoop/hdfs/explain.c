/* explain.c - turns a NameNode's exception into the errno and the sentence that a file system
 * would give. The class decides where it says enough; a few exceptions are known only by their
 * text. See explain.h. */
#include "hadoop/hdfs/explain.h"
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/rpc/exception.h"

#include <stdio.h>
#include <string.h>

/* The text between `before` and the next of `ends`, or "". */
static void pick(const char *text, const char *before, const char *ends, char *out, size_t cap)
{
    const char *p = strstr(text, before);
    size_t n;

    out[0] = '\0';
    if (!p)
        return;
    p += strlen(before);
    n = strcspn(p, ends);
    snprintf(out, cap, "%.*s", (int)(n < cap ? n : cap - 1), p);
}

/* Another sentence for the same error: which exception it was and its hint stay. */
__attribute__((format(printf, 3, 4))) static int restate(struct err *err, int code, const char *fmt,
                                                         ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    err->code = code;
    return code;
}

/* Permission denied: user=bob, access=WRITE, inode="/x":root:supergroup:drwxr-xr-x */
static int denied(const char *verb, const char *path, struct err *err)
{
    char user[64], access[32], inode[200], owner[64], group[64], mode[16];
    const char *after;

    pick(err->text, "user=", ",", user, sizeof(user));
    pick(err->text, "access=", ",", access, sizeof(access));
    pick(err->text, "inode=\"", "\"", inode, sizeof(inode));
    after = strstr(err->text, "\":");
    if (!user[0] || !inode[0] || !after)
        return err_wrap(err, -EACCES, "%s '%s'", verb, path);
    pick(after, "\":", ":", owner, sizeof(owner));
    pick(after + 2, ":", ":", group, sizeof(group));
    pick(strchr(after + 2, ':') ? strchr(after + 2, ':') + 1 : after, ":", " ", mode, sizeof(mode));
    return restate(err, -EACCES,
                   "%s '%s': permission denied for user '%s', who needs %s on '%s' (%s %s:%s)",
                   verb, path, user, access[0] ? access : "rights", inode, mode, owner, group);
}

static int explain_not_found(const char *verb, const char *path, struct err *err)
{
    char other[300];

    if (strstr(err->text, "Path is not a file"))
        return restate(err, -EISDIR, "%s '%s': it is a directory", verb, path);
    pick(err->text, "Parent directory doesn't exist: ", "\n", other, sizeof(other));
    if (!other[0])
        pick(err->text, "rename destination parent ", " ", other, sizeof(other));
    if (other[0])
        return restate(err, -ENOENT, "%s '%s': there is no directory '%s'", verb, path, other);
    return restate(err, -ENOENT, "%s '%s': no such file or directory", verb, path);
}

static int exists(const char *verb, const char *path, struct err *err)
{
    if (strstr(err->text, "as a directory") || strstr(err->text, "is a directory"))
        return restate(err, -EISDIR, "%s '%s': it is a directory", verb, path);
    return restate(err, -EEXIST, "%s '%s': it exists already", verb, path);
}

/* Exceptions that have no class of their own but a text that does not change. */
static int explain_by_text(const char *verb, const char *path, int r, struct err *err)
{
    char running[12], excluded[12];

    if (strstr(err->text, "could only be written to") ||
        strstr(err->text, "could only be replicated to")) {
        pick(err->text, "There are ", " ", running, sizeof(running));
        pick(err->text, "running and ", " ", excluded, sizeof(excluded));
        restate(err, -ENOSPC, "%s '%s': no DataNode can take a block (%s running, %s left out)",
                verb, path, running[0] ? running : "?", excluded[0] ? excluded : "none");
        err_hint(err, "the DataNodes are full, down, or too busy: see the NameNode's web page");
        return -ENOSPC;
    }
    if (strstr(err->text, "is non empty") || strstr(err->text, "is not empty"))
        return restate(err, -ENOTEMPTY, "%s '%s': the directory is not empty", verb, path);
    if (strstr(err->text, "No crypto protocol versions") ||
        strstr(err->text, "UnknownCryptoProtocolVersionException")) {
        restate(err, -EOPNOTSUPP, "%s '%s': it is in an encryption zone, which is not supported",
                verb, path);
        err_hint(err, "use a directory outside of encryption zones");
        return -EOPNOTSUPP;
    }
    return err_wrap(err, r, "%s '%s'", verb, path);
}

/* With an exception of a known class the sentence is made here; the server's text is kept only
 * where it says more than we could. Safe mode has no errno of its own; EROFS is the closest. */
int explain(const char *verb, const char *path, int r, struct err *err)
{
    if (!err)
        return r;
    switch ((enum rpc_exception)err->detail) {
    case RPC_EX_FILE_NOT_FOUND:
        return explain_not_found(verb, path, err);
    case RPC_EX_FILE_EXISTS:
        return exists(verb, path, err);
    case RPC_EX_ACCESS:
        return denied(verb, path, err);
    case RPC_EX_NOT_EMPTY:
        return restate(err, -ENOTEMPTY, "%s '%s': the directory is not empty", verb, path);
    case RPC_EX_NOT_DIRECTORY:
        return restate(err, -ENOTDIR, "%s '%s': a part of the path is not a directory", verb, path);
    case RPC_EX_SAFE_MODE:
        return restate(err, -EROFS, "%s '%s': the NameNode is in safe mode", verb, path);
    case RPC_EX_OTHER:
        return explain_by_text(verb, path, r, err);
    default:
        return err_wrap(err, r, "%s '%s'", verb, path);
    }
}
