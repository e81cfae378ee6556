/* yarn_exit_status.c - see yarn_platform_private.h. What YARN's own exit statuses mean for a job;
 * those of a program are the agent's, and an agent that ends by itself while it has work is lost.
 */
#include "base/str.h"
#include "platform/yarn/yarn_platform_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define UNSAVED 73      /* as in agent/agent.h */
#define NOT_LAUNCHED -1 /* YARN's "invalid" */

/* clang-format off */
static const struct {
    int32_t status;
    enum fail_class cls;
} classes[] = {
    { -1000, FAIL_FILES },     /* localisation */
    { -100,  FAIL_NODE },      /* aborted: its node is lost, or it was given back */
    { -101,  FAIL_DISK },
    { -102,  FAIL_PREEMPTED },
    { -103,  FAIL_MEMORY },    /* virtual */
    { -104,  FAIL_MEMORY },
    { -105,  FAIL_NODE },      /* stopped through its NodeManager */
    { -106,  FAIL_PERSON },    /* by the ResourceManager */
    { -107,  FAIL_PERSON },    /* the application was killed */
    { -108,  FAIL_PREEMPTED }, /* by the container scheduler of its node */
    { -109,  FAIL_LOG_LIMIT },
};
/* clang-format on */

/* Files are put in place before anything runs: whether they, the disk, or the way to HDFS are at
 * fault, only the sentence says. */
static enum fail_class class_of_files(const char *text)
{
    /* clang-format off */
    static const struct {
        const char *says;
        enum fail_class cls;
    } rows[] = {
        { "No space left on device", FAIL_DISK }, { "Disk quota exceeded",  FAIL_DISK },
        { "DiskErrorException",      FAIL_DISK }, { "No space available",   FAIL_DISK },
        { "Connection refused",      FAIL_NODE }, { "ConnectException",     FAIL_NODE },
        { "SocketTimeoutException",  FAIL_NODE }, { "UnknownHostException", FAIL_NODE },
        { "NoRouteToHostException",  FAIL_NODE }, { "SafeModeException",    FAIL_NODE },
        { "RetriableException",      FAIL_NODE }, { "StandbyException",     FAIL_NODE },
        { "BlockMissingException",   FAIL_NODE },
        { "Could not find any valid local directory", FAIL_DISK },
    };
    /* clang-format on */

    for (size_t i = 0; text && i < COUNT_OF(rows); i++)
        if (strstr(text, rows[i].says))
            return rows[i].cls;
    return FAIL_FILES;
}

/* Before its program ran something of YARN's own went wrong: nearly always the disk. */
static enum fail_class class_of_launch(const char *text)
{
    return class_of_files(text) == FAIL_DISK ? FAIL_DISK : FAIL_NODE;
}

enum fail_class yarn_end_class(int32_t exit_status, const char *diagnostics)
{
    if (exit_status == NOT_LAUNCHED)
        return class_of_launch(diagnostics);
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (classes[i].status != exit_status)
            continue;
        return classes[i].cls == FAIL_FILES ? class_of_files(diagnostics) : classes[i].cls;
    }
    return FAIL_NODE;
}

/* Lines of Java's stack traces and of lists of processes, and the empty ones around them. */
static bool yarn_end_is_noise(const char *line, size_t n)
{
    static const char *const begins[] = { "at ", "... ", "|- ", "Dump of the process-tree" };

    while (n > 0 && isspace((unsigned char)*line)) {
        line++;
        n--;
    }
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (n > strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0)
            return true;
    return n == 0;
}

struct line {
    const char *at;
    size_t n;
};

static void yarn_end_cut(struct line *l, size_t n)
{
    l->at += n;
    l->n -= n;
}

/* "[2026-11-16 11:27:48.628]", and the name of a class: "java.io.IOException: ". */
static void yarn_end_cut_ornament(struct line *l)
{
    const char *end = *l->at == '[' ? memchr(l->at, ']', l->n) : NULL;
    size_t n = 0;

    if (end && isdigit((unsigned char)l->at[1]))
        yarn_end_cut(l, (size_t)(end - l->at) + 1);
    while (l->n > 0 && isspace((unsigned char)*l->at))
        yarn_end_cut(l, 1);
    while (n < l->n && (isalnum((unsigned char)l->at[n]) || strchr("._$", l->at[n])))
        n++;
    if (n + 2 < l->n && memchr(l->at, '.', n) && l->at[n] == ':' && l->at[n + 1] == ' ')
        yarn_end_cut(l, n + 2);
}

/* The lines that a person can use: the first ones; or, when the text gives causes, the last cause
 * that is more than a name, which is the innermost. */
static size_t useful_lines(const char *text, struct line out[3])
{
    static const char cause[] = "Caused by: ";
    bool caused = false;
    size_t n = 0;

    for (; text && *text; text += *text != '\0') {
        struct line l = { text, strcspn(text, "\n") };
        bool is_cause = l.n > sizeof(cause) && memcmp(text, cause, sizeof(cause) - 1) == 0;

        text += l.n;
        if (yarn_end_is_noise(l.at, l.n))
            continue;
        if (is_cause)
            yarn_end_cut(&l, sizeof(cause) - 1);
        yarn_end_cut_ornament(&l);
        if (l.n == 0 || (caused && (!is_cause || !memchr(l.at, ' ', l.n))))
            continue;
        if (is_cause)
            n = 0;
        caused = caused || is_cause;
        if (n < 3)
            out[n++] = l;
    }
    return n;
}

bool yarn_end_unsaved(int32_t exit_status)
{
    return exit_status == UNSAVED;
}

void yarn_end_text(int32_t exit_status, const char *diagnostics, char *out, size_t n)
{
    const char *known = yarn_exit_text(exit_status);
    struct line lines[3];
    size_t n_lines = useful_lines(diagnostics, lines);

    if (known)
        (void)snprintf(out, n, "%s", known);
    else if (exit_status == UNSAVED)
        (void)snprintf(out, n, "its agent could not save everything");
    else
        (void)snprintf(out, n, "its agent ended with code %d", exit_status);
    for (size_t i = 0; i < n_lines; i++) {
        size_t len = strlen(out);

        if (len + 3 < n)
            (void)snprintf(out + len, n - len, "%s%.*s", i ? " " : ": ", (int)lines[i].n,
                           lines[i].at);
    }
}
