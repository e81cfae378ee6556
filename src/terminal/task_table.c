/* task_table.c - two sets of columns, with and without what tasks use; a cell that nobody has a
 * value for is a dash. See task_table.h. */
#include "terminal/task_table.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/table.h"
#include "loop/loop.h"
#include "terminal/format.h"

/* clang-format off */
static const struct table_column plain[] = {
    { "TASK", false }, { "STATE", false }, { "SINCE", true }, { "NODE", false }, { "PID", true },
    { "PORTS", false }, { "STARTS", true }, { "EXIT", true }, { "PROGRESS", false },
};
static const struct table_column with_use[] = {
    { "TASK", false }, { "STATE", false }, { "SINCE", true }, { "NODE", false }, { "PID", true },
    { "CPU", true }, { "MEMORY", true }, { "PROGRESS", false },
};
/* clang-format on */

static void number_cell(struct table *t, const json_t *v, const char *key)
{
    if (json_is_integer(json_object_get(v, key)))
        table_cell(t, "%lld", (long long)json_int_or(v, key, 0));
    else
        table_cell(t, "-");
}

static void text_cell(struct table *t, const char *s)
{
    table_cell(t, "%s", *s ? s : "-");
}

static int ports_cell(struct table *t, const json_t *task)
{
    const json_t *ports = json_object_get(task, "ports"), *p;
    AUTO_BUF text = { .max = KIB };
    size_t i;

    json_array_foreach(ports, i, p)
    {
        if (buf_printf(&text, "%s%lld", i ? "," : "", (long long)json_integer_value(p)) < 0)
            return -ENOMEM;
    }
    if (!buf_text(&text))
        return -ENOMEM;
    text_cell(t, buf_text(&text));
    return 0;
}

static void use_cells(struct table *t, const json_t *task)
{
    const json_t *share = json_object_get(task, "cpu");
    int64_t memory = json_int_or(task, "memory", -1);
    char size[STR_SIZE_MAX];

    if (json_is_number(share))
        table_cell(t, "%.0f %%", json_number_value(share) * 100);
    else
        table_cell(t, "-");
    table_cell(t, "%s", memory >= 0 ? str_size((uint64_t)memory, size) : "-");
}

static int task_table_add_row(struct table *t, const json_t *task, bool usage)
{
    int64_t since = json_int_or(task, "since", 0);
    AUTO_BUF progress = { .max = KIB };
    char state[16], span[FORMAT_SPAN];

    if (format_progress(task, &progress) < 0 || !buf_text(&progress))
        return -ENOMEM;
    table_cell(t, "%s", format_text(task, "task"));
    table_cell(t, "%s", format_lower(format_text(task, "state"), state, sizeof(state)));
    table_cell(t, "%s", format_span(since > 0 ? loop_wall() - since : -1, span));
    text_cell(t, format_text(task, "node"));
    number_cell(t, task, "pid");
    if (usage) {
        use_cells(t, task);
    } else {
        if (ports_cell(t, task) < 0)
            return -ENOMEM;
        table_cell(t, "%lld", (long long)json_int_or(task, "attempt", 0) + 1);
        number_cell(t, task, "code");
    }
    table_cell(t, "%s", buf_text(&progress));
    return 0;
}

int tasks_print(const json_t *status, bool usage, struct err *err)
{
    const json_t *tasks = json_object_get(status, "tasks"), *task;
    AUTO_TABLE t = { 0 };
    size_t i;

    if (usage)
        table_begin(&t, stdout, with_use, COUNT_OF(with_use));
    else
        table_begin(&t, stdout, plain, COUNT_OF(plain));
    json_array_foreach(tasks, i, task)
    {
        if (task_table_add_row(&t, task, usage) < 0)
            return err_oom(err);
    }
    return table_end(&t, err);
}
