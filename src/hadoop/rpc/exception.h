/* exception.h - turns Java exceptions of Hadoop's servers into errors. Pure. */
#pragma once
#include "base/err.h"

enum rpc_exception {
    RPC_EX_NONE,
    RPC_EX_OTHER, /* one we have no row for */
    RPC_EX_STANDBY,
    RPC_EX_RETRIABLE,
    RPC_EX_SAFE_MODE,
    RPC_EX_NO_SUCH_METHOD,
    RPC_EX_VERSION,
    RPC_EX_ACCESS,
    RPC_EX_AUTHORIZATION,
    RPC_EX_INVALID_TOKEN,
    RPC_EX_SASL,
    RPC_EX_NOT_REGISTERED,     /* AM: register again, the RM has restarted */
    RPC_EX_ATTEMPT_NOT_FOUND,  /* AM: this attempt is over */
    RPC_EX_INVALID_AM_REQUEST, /* AM: wrong response id, or registered twice */
    RPC_EX_APP_NOT_FOUND,
    RPC_EX_INVALID_RESOURCE,
    RPC_EX_INVALID_LABEL,
    RPC_EX_NM_NOT_READY,
    RPC_EX_INVALID_CONTAINER,
    RPC_EX_CONTAINER_NOT_HANDLED,
    RPC_EX_NOT_REPLICATED_YET,
    RPC_EX_LEASE_EXPIRED,
    RPC_EX_RETRY_START_FILE,
    RPC_EX_BEING_CREATED,
    RPC_EX_FILE_EXISTS,
    RPC_EX_FILE_NOT_FOUND,
    RPC_EX_NOT_EMPTY,
    RPC_EX_NOT_DIRECTORY,
    RPC_EX_QUOTA,
    RPC_EX_PATH_INVALID,
    RPC_EX_UNRESOLVED_LINK,
    RPC_EX_RECOVERY_IN_PROGRESS,
    RPC_EX_ILLEGAL_ARGUMENT,
};

/* What the caller of a remote method should do about an exception. */
enum rpc_action { RPC_FAIL, RPC_FAILOVER, RPC_TRY_AGAIN };

/* Fills `err` (code, detail, text, hint) from the class and the message of a remote exception,
 * both hostile, either may be NULL, and returns err's code, also when `err` is NULL. Text: short
 * class name and the first line: "AccessControlException: Permission denied: user=bob, …". */
int rpc_exception_err(const char *class_name, const char *message, struct err *err);
enum rpc_action rpc_exception_action(int detail);
