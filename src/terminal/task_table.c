/* task_table.c - two sets of columns, with and without what tasks use; a cell that nobody has a
 * value for is a dash. See task_table.h. */
#include "terminal/task_table.h"
#include "cli/doc.h"
#include "loop/loop.h"
#include "terminal/format.h"

static int put_since(const json_t *task, struct buf *out)
{
    int64_t since = json_int_or(task, "since", 0);
    char span[FORMAT_SPAN];

    return buf_add_str(out, format_span(since > 0 ? loop_wall() - since : -1, span));
}

static int put_starts(const json_t *task, struct buf *out)
{
    return buf_printf(out, "%lld", (long long)json_int_or(task, "attempt", 0) + 1);
}

/* clang-format off */
#define TASK                                \
    { "TASK",  false, "{task}" },           \
    { "STATE", false, "{state|lower}" },    \
    { "SINCE", true,  .put = put_since },   \
    { "NODE",  false, "{node}" },           \
    { "PID",   true,  "{pid}" }

static const struct table_column plain[] = {
    TASK,
    { "PORTS",    false, "{ports}" },
    { "STARTS",   true,  .put = put_starts },
    { "EXIT",     true,  "{code}" },
    { "PROGRESS", false, .put = format_progress },
};
static const struct table_column with_use[] = {
    TASK,
    { "CPU",      true,  "{cpu|share}" },
    { "MEMORY",   true,  "{memory|size}" },
    { "PROGRESS", false, .put = format_progress },
};
/* clang-format on */

int tasks_print(const json_t *status, bool usage, struct err *err)
{
    const json_t *tasks = json_object_get(status, "tasks");

    return usage ? doc_table(tasks, with_use, COUNT_OF(with_use), err)
                 : doc_table(tasks, plain, COUNT_OF(plain), err);
}
