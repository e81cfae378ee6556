/* help.c - `ydl help`: pages for the terminal, and manual pages from the same tables. */
#include "base/path.h"
#include "cli/globals.h"
#include "cmd/verbs.h"

#include <string.h>

struct args {
    bool all, man, schema;
    const char *man_dir;
};

/* clang-format off */
static const struct cli_opt opts[] = {
    { "all",   'a', CLI_FLAG, offsetof(struct args, all),     NULL, NULL,
      "show all options, not only the common ones" },
    { "man",     0, CLI_FLAG, offsetof(struct args, man),     NULL, NULL,
      "print the manual page, in the mdoc language" },
    { "man-dir", 0, CLI_TEXT, offsetof(struct args, man_dir), NULL, "DIR",
      "write all manual pages to DIR" },
    { "schema",  0, CLI_FLAG, offsetof(struct args, schema),  NULL, NULL,
      "print the JSON Schema of job files, for editors and other programs" },
    { 0 },
};
/* clang-format on */

/* "DIR/ydl-fs.1", or "DIR/ydl.1" for the program itself. */
static int write_page(const char *dir, const struct cli_program *p, const struct cli_verb *v,
                      struct err *err)
{
    AUTO_FREE char *path = str_printf("%s/%s%s%s.1", dir, p->name, v ? "-" : "", v ? v->name : "");
    AUTO_FREE char *page = NULL;
    size_t n = 0;
    FILE *f = path ? open_memstream(&page, &n) : NULL;

    if (!f)
        return err_oom(err);
    cli_man(f, p, v);
    if (fclose(f) != 0)
        return err_oom(err);
    return path_write(path, page, n, 0644, err);
}

/* "DIR/ydl-job.5". */
static int write_extra(const char *dir, const struct cli_program *p, const struct cli_page *page,
                       struct err *err)
{
    AUTO_FREE char *path = str_printf("%s/%s.%d", dir, page->name, page->section);
    AUTO_FREE char *text = NULL;
    size_t n = 0;
    FILE *f = path ? open_memstream(&text, &n) : NULL;
    int r = f ? cli_man_page(f, p, page) : -ENOMEM;

    if (!f || fclose(f) != 0 || r < 0)
        return err_oom(err);
    return path_write(path, text, n, 0644, err);
}

/* "DIR/ydl-mx.1". 1 when it was there, 0 when there are no more. */
static int write_other(const char *dir, const struct cli_program *p, size_t i, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *text = NULL;
    const char *name = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    int r = f ? p->others->man(f, p, i, &name) : -ENOMEM;

    if (!f || fclose(f) != 0 || r < 0)
        return err_oom(err);
    if (r == 0)
        return 0;
    path = str_printf("%s/%s.1", dir, name);
    if (!path)
        return err_oom(err);
    r = path_write(path, text, n, 0644, err);
    return r < 0 ? r : 1;
}

static int write_pages(const char *dir, const struct cli_program *p, struct err *err)
{
    int r = path_mkdirs(dir, 0755, err);

    if (r == 0)
        r = write_page(dir, p, NULL, err);
    for (const struct cli_verb *const *v = p->verbs; r == 0 && *v; v++)
        if (!(*v)->hidden)
            r = write_page(dir, p, *v, err);
    for (const struct cli_page *g = p->pages; r == 0 && g && g->name; g++)
        r = write_extra(dir, p, g, err);
    for (size_t i = 0; r == 0 && p->others; i++) {
        r = write_other(dir, p, i, err);
        if (r == 0)
            break;
        r = r > 0 ? 0 : r;
    }
    return r;
}

/* Of the one file that the program takes. */
static int help_print_schema(const struct cli_program *p, struct err *err)
{
    for (const struct cli_page *g = p->pages; g && g->name; g++)
        if (g->schema)
            return g->schema(stdout, err);
    return cli_bad(err, "%s has no files with a schema", p->name);
}

static int help_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;
    struct cli found;
    int r;

    if (a->schema && (a->man || a->man_dir || c->n_operands))
        return cli_bad(err, "--schema cannot be combined with other options or a verb");
    if (a->schema)
        return help_print_schema(c->program, err);
    if (a->man_dir)
        return write_pages(a->man_dir, c->program, err);
    r = cli_find(c->program, c->operands, &found, err);
    if (r < 0)
        return r;
    if (a->man)
        cli_man(stdout, c->program, found.path[0]);
    else
        cli_help(stdout, &found, cli_width(stdout), CLI_HELP_PROSE | (a->all ? CLI_HELP_ALL : 0));
    return 0;
}

static const struct cli_example examples[] = {
    { "ydl help run", "explain 'ydl run'" },
    { "ydl help -a run", "explain it with all options" },
    { "ydl help --man run | man -l -", "show its manual page" },
    { "ydl help --schema > ydl-job.schema.json", "let an editor check job files" },
    { 0 },
};

const struct cli_verb verb_help = {
    .name = "help",
    .summary = "explain a verb",
    .text =
        "Explains a verb; without VERB, lists all verbs and the options they have in common. In\n"
        "addition to 'ydl VERB --help', shows files, variables, exit codes and JSON keys.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "[VERB…]",
    .most = CLI_DEPTH,
    .complete = CLI_VERBS,
    .examples = examples,
    .lacks = GLOBALS_CLUSTER,
    .run = help_run,
};
