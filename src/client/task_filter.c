/* task_filter.c - see task_filter.h */
#include "client/task_filter.h"
#include "cli/cli.h"
#include "terminal/stream_piece.h"

#include <string.h>

static int task_filter_check_one(const char *w, const struct strs *roles, const char *whose,
                                 struct err *err)
{
    size_t n = strcspn(w, ":"), rank_at;
    AUTO_FREE char *role = strndup(w, n);
    const char *near;
    uint32_t rank;

    if (!role)
        return err_oom(err);
    if (w[n] && !piece_task(w, &rank_at, &rank))
        return cli_bad(err, "'%s' is neither a role nor a task, such as worker or worker:0", w);
    if (strs_has(roles, role))
        return 0;
    near = str_nearest(role, (const char *const *)roles->v, roles->n);
    if (near)
        return cli_bad(err, "%s has no role '%s'; did you mean '%s'?", whose, role, near);
    return cli_bad(err, "%s has no role '%s'", whose, role);
}

int task_filter_check(const struct strs *wanted, const struct strs *roles, const char *whose,
                      struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < wanted->n; i++)
        r = task_filter_check_one(wanted->v[i], roles, whose, err);
    return r;
}
