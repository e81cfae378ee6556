/* exit.h - from an error to the exit code and the words that people and programs see.
 *
 * The edge of the programs: the only place that prints an error. Main thread. */
#pragma once
#include "base/json.h"
#include "cli/cli.h"

/* What scripts rely on; a failed job gives the code of its first failing task instead. */
enum exit_code {
    EXIT_OTHER = 1,
    EXIT_USAGE = 2,        /* the command line or a file of ours is wrong */
    EXIT_UNREACHABLE = 69, /* the cluster cannot be reached */
    EXIT_INTERNAL = 70,    /* a fault of ours, or an answer that makes no sense */
    EXIT_CREATE = 73,      /* the output cannot be made */
    EXIT_AGAIN = 75,       /* not now: try again */
    EXIT_VERSION = 76,     /* of another version of ydl, and cannot be understood */
    EXIT_DENIED = 77,      /* not permitted */
    EXIT_TIME = 124,       /* time limit */
    EXIT_INTERRUPTED = 130,
    EXIT_PIPE = 141, /* nobody reads our output any more; said by SIGPIPE elsewhere */
};

/* Not an errno: whoever read our standard output has gone. A verb returns it instead of -EPIPE, so
 * that a broken connection is not taken for `ydl … | head`, and nothing is printed. */
#define EXIT_OUTPUT_GONE (-4097)
/* Is `fd` a pipe whose other end was closed? */
bool exit_reader_gone(int fd);
/* Not one either: results have no place to go to, and the error says why. Whatever that is, it is
 * EXIT_CREATE. */
#define EXIT_NOT_MADE (-4098)

/* The exit code of what a verb returned: itself when not negative, else by a table. */
int exit_code(int result);

/* Is what the user named wrong: not there, there already, of another kind, not permitted? Not when
 * a disk, a server or the network failed or has no room, which keeps a code of its own. */
bool exit_users_fault(int result);

/* CLI_USAGE, also in `err`, for a file of this machine that the user named wrongly; else `result`.
 */
int exit_named_file(int result, struct err *err);

/* Prints a failure, "program: text" and its hint on standard error, with `json` also as an object
 * {"error": {…}} on standard output; returns the exit code. */
int exit_report(const char *program, int result, const struct err *err, bool json);

/* The same with more than fits into an error. */
struct exit_more {
    const char *lines;     /* before the hint: whole lines, safe for a terminal; NULL: none */
    const json_t *members; /* of the object of --json; NULL: none */
};
int exit_report_more(const char *program, int result, const struct err *err, bool json,
                     const struct exit_more *more);

/* What --json shows of a failure: {code, errno, text, hint, exit}. The caller's; NULL when out of
 * memory. */
json_t *exit_json(int result, const struct err *err);
