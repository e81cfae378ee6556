/* yarn_diagnostics.c - takes YARN's text line by line, drops noise and ornaments, and chooses the
 * line to begin with: one whose meaning a table knows, else the innermost cause, else the first.
 * See yarn_diagnostics.h. */
#include "client/yarn_diagnostics.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/str.h"
#include "job/engine/outcome.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX (64 * KIB)

struct line {
    const char *at;
    size_t n;
    bool cause; /* "Caused by: " stood before it */
};

/* ---- what is known ---- */

#define ACCOUNT                                                                                    \
    "every node needs an account with that name (check with getent passwd NAME), or run the job "  \
    "as another user with --as"
#define EXECUTOR                                                                                   \
    "container-executor.cfg on the nodes decides who may run containers (banned.users, "           \
    "min.user.id, allowed.system.users): submit as another user"

/* A line that has all of `has` in it says why, and `hint` what to do. */
static const struct cause {
    const char *has[2];
    const char *hint;
} causes[] = {
    { { "User ", " not found" }, ACCOUNT },
    { { "Requested user ", " is banned" }, EXECUTOR },
    { { "Requested user ", " is not whitelisted" }, EXECUTOR },
    { { "beyond the 'PHYSICAL' memory limit", "" }, "give the master more memory: master.memory" },
    { { "beyond physical memory limits", "" }, "give the master more memory: master.memory" },
    { { "No space left on device", "" }, "the disks of the node are full" },
    { { "No space available in any of the local directories", "" },
      "the disks of the node are full" },
    { { "File does not exist: ", "" },
      "the job's files in HDFS were removed while it waited: submit it again" },
    { { "can't be found in cache", "" },
      "its token was cancelled or has expired, as after a long time in the queue: submit it "
      "again" },
    { { "Unauthorized request to start container", "" },
      "the clocks of the cluster's machines differ too much: see 'ydl doctor'" },
    { { "Permission denied", "" }, "" },
};

static bool line_has(const struct line *l, const char *text)
{
    return memmem(l->at, l->n, text, strlen(text)) != NULL;
}

static const struct cause *cause_of(const struct line *l)
{
    for (size_t i = 0; i < COUNT_OF(causes); i++)
        if (line_has(l, causes[i].has[0]) && line_has(l, causes[i].has[1]))
            return &causes[i];
    return NULL;
}

/* ---- lines ---- */

static void diagnostics_cut(struct line *l, size_t n)
{
    l->at += n;
    l->n -= n;
}

static void diagnostics_trim(struct line *l)
{
    while (l->n > 0 && isspace((unsigned char)*l->at))
        diagnostics_cut(l, 1);
    while (l->n > 0 && isspace((unsigned char)l->at[l->n - 1]))
        l->n--;
}

static bool diagnostics_begins(const struct line *l, const char *text)
{
    return l->n >= strlen(text) && memcmp(l->at, text, strlen(text)) == 0;
}

/* "[2026-11-16 11:27:48.628]", "Caused by: ", and the name of a class: "java.io.IOException: ". */
static void diagnostics_cut_ornament(struct line *l)
{
    const char *end = l->n > 1 && *l->at == '[' ? memchr(l->at, ']', l->n) : NULL;
    size_t n = 0;

    if (end && isdigit((unsigned char)l->at[1]))
        diagnostics_cut(l, (size_t)(end - l->at) + 1);
    diagnostics_trim(l);
    l->cause = diagnostics_begins(l, "Caused by: ");
    if (l->cause)
        diagnostics_cut(l, strlen("Caused by: "));
    while (n < l->n && (isalnum((unsigned char)l->at[n]) || strchr("._$", l->at[n])))
        n++;
    if (n + 2 < l->n && memchr(l->at, '.', n) && l->at[n] == ':' && l->at[n + 1] == ' ')
        diagnostics_cut(l, n + 2);
    diagnostics_trim(l);
}

/* Stacks, what container-executor says of itself, and advice that is none on a terminal. */
static bool diagnostics_is_noise(const struct line *l)
{
    static const char *const noise[] = {
        "at ",
        "... ",
        "|- ",
        "Dump of the process-tree",
        "main : ",
        "For more detailed output",
        "Then click on links",
        ". Failing the application",
        "Shell output: main : ",
        "Stack trace: ",
        "Full command array",
        "Nonzero exit code=",
    };

    for (size_t i = 0; i < COUNT_OF(noise); i++)
        if (diagnostics_begins(l, noise[i]))
            return true;
    return l->n == 0;
}

/* A prefix that YARN puts before a line, on the same line. */
static void cut_preamble(struct line *l)
{
    static const char *const ends[] = { "Failing this attempt.Diagnostics: ", "Diagnostics: " };

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const char *p = memmem(l->at, l->n, ends[i], strlen(ends[i]));

        if (p) {
            diagnostics_cut(l, (size_t)(p - l->at) + strlen(ends[i]));
            return;
        }
    }
}

/* The next line of use at *text, which moves on behind it; false: there is none.
 *
 * Of a line like this one only the last words are left; "at org.apache…" and its like are noise:
 *
 *     Application a_1 failed 2 times … Diagnostics: [2026-11-16 11:27:48]java.io.IOException: No …
 *     └───────────── cut_preamble() ──────────────┘└─────── diagnostics_cut_ornament() ───┘ */
static bool next_line(const char **text, struct line *ret)
{
    while (**text) {
        *ret = (struct line){ .at = *text, .n = strcspn(*text, "\n") };
        *text += ret->n + ((*text)[ret->n] == '\n');
        diagnostics_trim(ret);
        cut_preamble(ret);
        diagnostics_cut_ornament(ret);
        if (!diagnostics_is_noise(ret))
            return true;
    }
    return false;
}

/* ---- all of it ---- */

/* The line to begin with: one whose meaning is known, else the innermost cause, else the first. */
struct choice {
    struct line line;
    int rank;
};

/* Of several causes the last is the innermost, so that rank 2 is replaced by later ones; of known
 * lines and of others the first one counts. */
static void consider(struct choice *c, const struct line *l, const struct cause **ret)
{
    const struct cause *known = cause_of(l);
    int rank = known ? 3 : l->cause && memchr(l->at, ' ', l->n) ? 2 : 1;

    if (rank < c->rank || (rank == c->rank && rank != 2))
        return;
    c->line = *l;
    c->rank = rank;
    *ret = known;
}

int diagnostics_read(const char *text, struct diagnostics *ret)
{
    AUTO_BUF lines = { .max = LINES_MAX };
    const struct cause *known = NULL;
    struct choice best = { 0 };
    struct line l;
    size_t n = 0;
    int r = 0;

    *ret = (struct diagnostics){ .hint = "" };
    for (const char *from = text ? text : ""; r == 0 && next_line(&from, &l); n++) {
        consider(&best, &l, &known);
        r = buf_printf(&lines, "%.*s\n", (int)(l.n < LINES_MAX ? l.n : 0), l.at);
    }
    if (r == -ENOMEM)
        return r; /* more than LINES_MAX is left out */
    snprintf(ret->reason, sizeof(ret->reason), "%.*s",
             (int)(best.line.n < DIAGNOSTICS_REASON ? best.line.n : DIAGNOSTICS_REASON - 1),
             best.line.at ? best.line.at : "");
    ret->hint = known ? known->hint : "";
    ret->lines = strdup(n > 1 && buf_text(&lines) ? buf_text(&lines) : "");
    return ret->lines ? 0 : -ENOMEM;
}

int diagnostics_not_submitted(const char *text, struct diagnostics *ret)
{
    const char *at = text ? strstr(text, SUBMIT_FAILED) : NULL;
    int code = 0;

    if (!at)
        return 0;
    for (at += strlen(SUBMIT_FAILED); isdigit((unsigned char)*at) && code <= 255; at++)
        code = 10 * code + (*at - '0');
    if (code < 1 || code > 255 || !str_starts(at, "): "))
        return 0;
    at += strlen("): ");
    snprintf(ret->reason, sizeof(ret->reason), "the submission failed: %.*s",
             (int)strcspn(at, "\n"), at);
    ret->hint = ""; /* what is known of nodes does not fit */
    return code;
}

void diagnostics_done(struct diagnostics *d)
{
    free(d->lines);
    *d = (struct diagnostics){ 0 };
}
