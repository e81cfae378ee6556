/* exception.c - what a Java exception means to a client: its errno, whether to fail over, try again
 * or give up, and a hint. One row for each class that means something to us. Packages are ignored:
 * a name such as AccessControlException means the same in all that have it. General exceptions are
 * looked into for the one that they carry. See exception.h. */
#include "hadoop/rpc/exception.h"
#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

struct row {
    const char *name; /* class without its package; inner classes after '$' */
    enum rpc_exception which;
    int code;
    enum rpc_action action;
    const char *hint;
};

#define ASK_ADMIN "ask the cluster's administrator for the right, or choose another path or queue"

/* clang-format off */
/* RPC_FAILOVER: another address may be the active one. RPC_TRY_AGAIN: the same address, later.
 * RPC_FAIL is also the word for what only the caller can repeat, with a change or after a pause of
 * its own: NotReplicatedYet (rebuild.c), NotRegistered (amrm_answer.c). Observer NameNodes are
 * never asked on purpose, so one that refuses is a standby to us. */
static const struct row rows[] = {
    { "StandbyException",                 RPC_EX_STANDBY,               -EHOSTDOWN,    RPC_FAILOVER,  "" },
    { "ObserverRetryOnActiveException",   RPC_EX_STANDBY,               -EHOSTDOWN,    RPC_FAILOVER,  "" },
    { "RetriableException",               RPC_EX_RETRIABLE,             -EAGAIN,       RPC_TRY_AGAIN, "the server is busy or still starting; try again" },
    { "SafeModeException",                RPC_EX_SAFE_MODE,             -EAGAIN,       RPC_TRY_AGAIN, "HDFS is read-only while the NameNode is in safe mode; it leaves it by itself when enough blocks are reported" },
    { "RpcNoSuchMethodException",         RPC_EX_NO_SUCH_METHOD,        -EOPNOTSUPP,   RPC_FAIL,      "the server is older than this operation" },
    { "RpcNoSuchProtocolException",       RPC_EX_NO_SUCH_METHOD,        -EPROTONOSUPPORT, RPC_FAIL,   "another kind of Hadoop server listens there: check the address and port in the configuration" },
    { "RPC$VersionMismatch",              RPC_EX_VERSION,               -EPROTONOSUPPORT, RPC_FAIL,   "the server speaks another version of Hadoop's protocol" },
    { "AccessControlException",           RPC_EX_ACCESS,                -EACCES,       RPC_FAIL,      ASK_ADMIN },
    { "AuthorizationException",           RPC_EX_AUTHORIZATION,         -EACCES,       RPC_FAIL,      "the server refuses this user (or proxy user): see hadoop.proxyuser.* and the service ACLs" },
    { "SecretManager$InvalidToken",       RPC_EX_INVALID_TOKEN,         -EKEYREJECTED, RPC_FAIL,      "the token has expired, was cancelled, or belongs to another cluster" },
    { "SaslException",                    RPC_EX_SASL,                  -EKEYREJECTED, RPC_FAIL,      "" },
    { "ApplicationMasterNotRegisteredException", RPC_EX_NOT_REGISTERED, -ESTALE,       RPC_FAIL,      "" },
    { "ApplicationAttemptNotFoundException", RPC_EX_ATTEMPT_NOT_FOUND,  -ESRCH,        RPC_FAIL,      "" },
    { "InvalidApplicationMasterRequestException", RPC_EX_INVALID_AM_REQUEST, -EPROTO,  RPC_FAIL,      "" },
    { "ApplicationNotFoundException",     RPC_EX_APP_NOT_FOUND,         -ENOENT,       RPC_FAIL,      "see 'ydl cluster apps' for the applications the ResourceManager knows" },
    { "InvalidResourceRequestException",  RPC_EX_INVALID_RESOURCE,      -EINVAL,       RPC_FAIL,      "" },
    { "InvalidLabelResourceRequestException", RPC_EX_INVALID_LABEL,     -EINVAL,       RPC_FAIL,      "" },
    { "NMNotYetReadyException",           RPC_EX_NM_NOT_READY,          -EAGAIN,       RPC_TRY_AGAIN, "" },
    { "InvalidContainerException",        RPC_EX_INVALID_CONTAINER,     -EINVAL,       RPC_FAIL,      "" },
    { "NMNotHandledException",            RPC_EX_CONTAINER_NOT_HANDLED, -ENOENT,       RPC_FAIL,      "" },
    { "NotReplicatedYetException",        RPC_EX_NOT_REPLICATED_YET,    -EAGAIN,       RPC_FAIL,      "" },
    { "LeaseExpiredException",            RPC_EX_LEASE_EXPIRED,         -ESTALE,       RPC_FAIL,      "another writer took over the file, or it was deleted" },
    { "RetryStartFileException",          RPC_EX_RETRY_START_FILE,      -EAGAIN,       RPC_TRY_AGAIN, "" },
    { "AlreadyBeingCreatedException",     RPC_EX_BEING_CREATED,         -EBUSY,        RPC_FAIL,      "another program is writing that file" },
    { "RecoveryInProgressException",      RPC_EX_RECOVERY_IN_PROGRESS,  -EBUSY,        RPC_FAIL,      "the file's last writer went away and HDFS is still recovering it; try again in a minute" },
    { "FileAlreadyExistsException",       RPC_EX_FILE_EXISTS,           -EEXIST,       RPC_FAIL,      "" },
    { "FileNotFoundException",            RPC_EX_FILE_NOT_FOUND,        -ENOENT,       RPC_FAIL,      "" },
    { "PathIsNotEmptyDirectoryException", RPC_EX_NOT_EMPTY,             -ENOTEMPTY,    RPC_FAIL,      "" },
    { "ParentNotDirectoryException",      RPC_EX_NOT_DIRECTORY,         -ENOTDIR,      RPC_FAIL,      "" },
    { "PathIsNotDirectoryException",      RPC_EX_NOT_DIRECTORY,         -ENOTDIR,      RPC_FAIL,      "" },
    { "NSQuotaExceededException",         RPC_EX_QUOTA,                 -EDQUOT,       RPC_FAIL,      "the directory's name quota is used up" },
    { "DSQuotaExceededException",         RPC_EX_QUOTA,                 -EDQUOT,       RPC_FAIL,      "the directory's space quota is used up; replicas count" },
    { "QuotaByStorageTypeExceededException", RPC_EX_QUOTA,              -EDQUOT,       RPC_FAIL,      "the directory's quota for this kind of storage is used up" },
    { "QuotaExceededException",           RPC_EX_QUOTA,                 -EDQUOT,       RPC_FAIL,      "" },
    { "InvalidPathException",             RPC_EX_PATH_INVALID,          -EINVAL,       RPC_FAIL,      "" },
    { "PathComponentTooLongException",    RPC_EX_PATH_INVALID,          -ENAMETOOLONG, RPC_FAIL,      "" },
    { "UnresolvedLinkException",          RPC_EX_UNRESOLVED_LINK,       -ELOOP,        RPC_FAIL,      "symbolic links in HDFS are not supported" },
    { "UnresolvedPathException",          RPC_EX_UNRESOLVED_LINK,       -ELOOP,        RPC_FAIL,      "symbolic links in HDFS are not supported" },
    { "HadoopIllegalArgumentException",   RPC_EX_ILLEGAL_ARGUMENT,      -EINVAL,       RPC_FAIL,      "" },
    { "IllegalArgumentException",         RPC_EX_ILLEGAL_ARGUMENT,      -EINVAL,       RPC_FAIL,      "" },
};
/* clang-format on */

static const struct row *rpc_exception_find(const char *class_name)
{
    const char *name = str_behind(class_name, '.');

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(rows[i].name, name))
            return &rows[i];
    return NULL;
}

enum rpc_action rpc_exception_action(int detail)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].which == (enum rpc_exception)detail)
            return rows[i].action;
    return RPC_FAIL;
}

/* The first line that says something; some messages begin with a newline. */
static void rpc_exception_first_line(const char *message, char *out, size_t size)
{
    size_t n;

    while (*message == '\n' || *message == ' ')
        message++;
    n = strcspn(message, "\r\n");
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), message);
    for (char *p = out; *p; p++) /* a server must not drive the user's terminal */
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

/* A general exception may carry the one that matters at the beginning of its message
 * ("YarnException", "java.security.AccessControlException: User bob cannot …"). Then that one's
 * row, and `name` and `line` become its class and its message; else NULL. */
static const struct row *unwrap(char *name, size_t size, char *line)
{
    char *colon = strstr(line, ": ");
    const struct row *row;

    if (!colon)
        return NULL;
    *colon = '\0';
    row = strchr(line, '.') && !strchr(line, ' ') ? rpc_exception_find(line) : NULL;
    if (row) {
        snprintf(name, size, "%s", row->name);
        memmove(line, colon + 2, strlen(colon + 2) + 1);
    } else {
        *colon = ':';
    }
    return row;
}

int rpc_exception_err(const char *class_name, const char *message, struct err *err)
{
    const struct row *row = class_name ? rpc_exception_find(class_name) : NULL;
    char name[120], line[320];
    int code;

    rpc_exception_first_line(class_name ? str_behind(class_name, '.') : "error", name,
                             sizeof(name));
    rpc_exception_first_line(message ? message : "", line, sizeof(line));
    if (!row)
        row = unwrap(name, sizeof(name), line);
    code = row ? row->code : -EREMOTEIO;
    err_set(err, code, "%s%s%s", name, line[0] ? ": " : "", line);
    if (err)
        err->detail = row ? row->which : RPC_EX_OTHER;
    if (row && row->hint[0])
        err_hint(err, "%s", row->hint);
    return code;
}
