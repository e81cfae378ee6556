/* exit.c - the last thing that a program does: an error becomes a sentence, a JSON document and an
 * exit code. One table gives all results their code and the name that programs read; what is not in
 * it is EXIT_OTHER. See exit.h. */
#include "cli/exit.h"
#include "base/json.h"
#include "cli/doc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

/* clang-format off */
static const struct {
    int result;
    enum exit_code code;
    const char *name; /* for programs that read our JSON */
} rows[] = {
    { CLI_USAGE,        EXIT_USAGE,       "USAGE" },
    { EXIT_OUTPUT_GONE, EXIT_PIPE,        "EPIPE" },
    { EXIT_NOT_MADE,    EXIT_CREATE,      "NOT_MADE" },
    { -ECONNREFUSED,    EXIT_UNREACHABLE, "ECONNREFUSED" },
    { -ETIMEDOUT,       EXIT_UNREACHABLE, "ETIMEDOUT" },
    { -EHOSTUNREACH,    EXIT_UNREACHABLE, "EHOSTUNREACH" },
    { -ENETUNREACH,     EXIT_UNREACHABLE, "ENETUNREACH" },
    { -EHOSTDOWN,       EXIT_UNREACHABLE, "EHOSTDOWN" },
    { -ENETDOWN,        EXIT_UNREACHABLE, "ENETDOWN" },
    { -ENOTCONN,        EXIT_UNREACHABLE, "ENOTCONN" },
    { -ECONNRESET,      EXIT_UNREACHABLE, "ECONNRESET" },
    { -ECONNABORTED,    EXIT_UNREACHABLE, "ECONNABORTED" },
    { -EPIPE,           EXIT_UNREACHABLE, "EPIPE" },
    { -ENODATA,         EXIT_UNREACHABLE, "ENODATA" }, /* a connection that ended too early */
    { -ENXIO,           EXIT_UNREACHABLE, "ENXIO" },   /* no such host */
    { -EPROTO,          EXIT_INTERNAL,    "EPROTO" },
    { -EBADMSG,         EXIT_INTERNAL,    "EBADMSG" },
    { -ENOMEM,          EXIT_INTERNAL,    "ENOMEM" },
    { -EFAULT,          EXIT_INTERNAL,    "EFAULT" },
    { -EEXIST,          EXIT_CREATE,      "EEXIST" },
    { -ENOSPC,          EXIT_CREATE,      "ENOSPC" },
    { -EDQUOT,          EXIT_CREATE,      "EDQUOT" },
    { -EROFS,           EXIT_CREATE,      "EROFS" },
    { -EFBIG,           EXIT_CREATE,      "EFBIG" },
    { -EAGAIN,          EXIT_AGAIN,       "EAGAIN" },
    { -EBUSY,           EXIT_AGAIN,       "EBUSY" },
    { -EPROTONOSUPPORT, EXIT_VERSION,     "EPROTONOSUPPORT" },
    { -EACCES,          EXIT_DENIED,      "EACCES" },
    { -EPERM,           EXIT_DENIED,      "EPERM" },
    { -EKEYEXPIRED,     EXIT_DENIED,      "EKEYEXPIRED" },
    { -EKEYREJECTED,    EXIT_DENIED,      "EKEYREJECTED" },
    { -EKEYREVOKED,     EXIT_DENIED,      "EKEYREVOKED" },
    { -ENOKEY,          EXIT_DENIED,      "ENOKEY" },
    { -ETIME,           EXIT_TIME,        "ETIME" },
    { -ECANCELED,       EXIT_INTERRUPTED, "ECANCELED" },
    { -EINTR,           EXIT_INTERRUPTED, "EINTR" },
    { -ENOENT,          EXIT_OTHER,       "ENOENT" },
    { -ENOTDIR,         EXIT_OTHER,       "ENOTDIR" },
    { -EISDIR,          EXIT_OTHER,       "EISDIR" },
    { -ENOTEMPTY,       EXIT_OTHER,       "ENOTEMPTY" },
    { -EINVAL,          EXIT_OTHER,       "EINVAL" },
    { -EOPNOTSUPP,      EXIT_OTHER,       "EOPNOTSUPP" },
    { -EIO,             EXIT_OTHER,       "EIO" },
    { -E2BIG,           EXIT_OTHER,       "E2BIG" },
    { -ENOSYS,          EXIT_OTHER,       "ENOSYS" },
};
/* clang-format on */

/* The row of a result; COUNT_OF(rows) when it has none. */
static size_t exit_row_of(int result)
{
    size_t i = 0;

    while (i < COUNT_OF(rows) && rows[i].result != result)
        i++;
    return i;
}

/* POLLERR on the writing end of a pipe means that the reading end was closed; looking costs nothing
 * and, unlike writing, raises no SIGPIPE. */
bool exit_reader_gone(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    return poll(&p, 1, 0) > 0 && (p.revents & POLLERR) != 0;
}

/* A verb's own positive result is the exit code of a job, and passes unchanged. */
int exit_code(int result)
{
    size_t i;

    if (result >= 0)
        return result;
    i = exit_row_of(result);
    return i < COUNT_OF(rows) ? (int)rows[i].code : EXIT_OTHER;
}

bool exit_users_fault(int result)
{
    static const int codes[] = { CLI_USAGE, -ENOENT, -ENOTDIR,      -EISDIR, -EEXIST,     -EACCES,
                                 -EPERM,    -EINVAL, -ENAMETOOLONG, -ELOOP,  -EOPNOTSUPP, -E2BIG };

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (result == codes[i])
            return true;
    return false;
}

int exit_named_file(int result, struct err *err)
{
    /* -ENXIO: a socket, or a device that is not there */
    if (result < 0 && (exit_users_fault(result) || result == -ENXIO))
        result = err->code = CLI_USAGE;
    return result;
}

json_t *exit_json(int result, const struct err *err)
{
    json_t *v = NULL;
    size_t i = exit_row_of(result);
    int number = result == CLI_USAGE ? EINVAL : result == EXIT_NOT_MADE ? -err->code : -result;

    (void)json_make(&v, NULL, "{s:s, s:i, s:o, s:o, s:i}", "code",
                    i < COUNT_OF(rows) ? rows[i].name : "OTHER", "errno", number, "text",
                    json_text(err->text), "hint", err->hint[0] ? json_text(err->hint) : json_null(),
                    "exit", exit_code(result));
    return v;
}

static void exit_print_json(int result, const struct err *err, const json_t *members)
{
    json_t *v = exit_json(result, err);

    /* The text on standard error says it too. */
    if (v && members)
        (void)json_object_update_missing(v, (json_t *)members);
    (void)doc_print(NULL, "{s:o}", "error", v);
}

int exit_report(const char *program, int result, const struct err *err, bool json)
{
    static const struct exit_more none = { 0 };

    return exit_report_more(program, result, err, json, &none);
}

int exit_report_more(const char *program, int result, const struct err *err, bool json,
                     const struct exit_more *more)
{
    char text[4 * sizeof(err->text)];

    if (result == EXIT_OUTPUT_GONE)
        return EXIT_PIPE;
    /* What is shown may hold bytes of a server or of a file. */
    str_clean(text, sizeof(text), err->text[0] ? err->text : "failed without saying why");
    fprintf(stderr, "%s: %s\n", program, text);
    if (more->lines)
        fputs(more->lines, stderr);
    if (err->hint[0]) {
        str_clean(text, sizeof(text), err->hint);
        fprintf(stderr, "  hint: %s\n", text);
    }
    if (json)
        exit_print_json(result, err, more->members);
    return exit_code(result);
}
