/* export_found.c - tasks of an earlier agent of this container, found by the names of the files
 * that they left.
 *
 *     LOGS/worker-3.stdout, .stderr
 *     .ydl/out/worker-3/ */
#include "agent/agent_private.h"
#include "agent/output/export_private.h"
#include "agent/tasks/agent_tasks.h"
#include "base/path.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>

#define LABELS_MAX 100000

/* "worker-3": a role's name and a number; prepare.c makes them of "worker:3". */
static bool export_found_is_label(const char *s)
{
    size_t n = strlen(s), digits = 0;

    while (digits < n && isdigit((unsigned char)s[n - 1 - digits]))
        digits++;
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
            return false;
    return digits > 0 && n > digits + 1 && n < 64 && s[n - digits - 1] == '-';
}

static bool export_found_is_known(const struct agent *a, const char *label)
{
    for (size_t i = 0; i < a->tasks.n; i++)
        if (str_eq(a->tasks.v[i]->label, label))
            return true;
    return false;
}

static int add_label(const struct agent *a, const char *label, struct strs *ret)
{
    if (!export_found_is_label(label) || export_found_is_known(a, label) || strs_has(ret, label) ||
        ret->n >= LABELS_MAX)
        return 0;
    return strs_add(ret, label);
}

/* All names in `dir` that end in `end`, without it. */
static int scan(const struct agent *a, const char *dir, const char *end, struct strs *ret)
{
    AUTO_DIR DIR *d = opendir(dir);
    struct dirent *e;
    int r = 0;

    while (d && r == 0 && (e = readdir(d)) != NULL) {
        AUTO_FREE char *label = NULL;

        if (!str_ends(e->d_name, end))
            continue;
        label = strndup(e->d_name, strlen(e->d_name) - strlen(end));
        r = label ? add_label(a, label, ret) : -ENOMEM;
    }
    return r;
}

int export_found(const struct agent *a, struct strs *ret)
{
    int r = 0;

    if (!a->platform->successors || !a->dirs.log || *a->facts->log_dir)
        return 0; /* other agents' tasks are there, too */
    r = scan(a, a->dirs.log, ".stdout", ret);
    if (r == 0)
        r = scan(a, a->dirs.log, ".stderr", ret);
    if (r == 0)
        r = scan(a, a->dirs.out, "", ret);
    return r;
}
