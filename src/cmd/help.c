/* help.c - `ydl help`: pages for the terminal, and manual pages from the same tables. */
#include "base/path.h"
#include "cli/globals.h"
#include "cmd/verbs.h"

struct args {
    bool all, man, schema;
    const char *man_dir;
};

/* One page: of a file, of another command, or of a verb; of the program itself without any. */
struct help_page {
    const struct cli_page *file;
    const struct cli_program *other;
    const struct cli_verb *verb;
};

/* "ydl-job.5", "ydl-mx.1", "ydl-fs.1", "ydl.1". */
static char *help_file_name(const struct cli_program *p, struct help_page page)
{
    if (page.file)
        return str_printf("%s.%d", page.file->name, page.file->section);
    if (page.other)
        return str_printf("%s.1", page.other->name);
    return str_printf("%s%s%s.1", p->name, page.verb ? "-" : "", page.verb ? page.verb->name : "");
}

static int help_print_page(FILE *f, const struct cli_program *p, struct help_page page)
{
    if (page.file)
        return cli_man_page(f, p, page.file);
    if (page.other)
        cli_man_other(f, p, page.other);
    else
        cli_man(f, p, page.verb);
    return 0;
}

static int write_page(const char *dir, const struct cli_program *p, struct help_page page,
                      struct err *err)
{
    AUTO_FREE char *name = help_file_name(p, page);
    AUTO_FREE char *path = name ? path_join(dir, name) : NULL;
    AUTO_FREE char *text = NULL;
    size_t n = 0;
    FILE *f = path ? open_memstream(&text, &n) : NULL;
    int r = f ? help_print_page(f, p, page) : -ENOMEM;

    if (!f || fclose(f) != 0 || r < 0)
        return err_oom(err);
    return path_write(path, text, n, 0644, err);
}

static int write_pages(const char *dir, const struct cli_program *p, struct err *err)
{
    int r = path_mkdirs(dir, 0755, err);

    if (r == 0)
        r = write_page(dir, p, (struct help_page){ 0 }, err);
    for (const struct cli_verb *const *v = p->verbs; r == 0 && *v; v++)
        if (!(*v)->hidden)
            r = write_page(dir, p, (struct help_page){ .verb = *v }, err);
    for (const struct cli_page *g = p->pages; r == 0 && g && g->name; g++)
        r = write_page(dir, p, (struct help_page){ .file = g }, err);
    for (const struct cli_program *const *o = p->others; r == 0 && o && *o; o++)
        r = write_page(dir, p, (struct help_page){ .other = *o }, err);
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

/* clang-format off */
const struct cli_verb verb_help = {
    .name = "help", .summary = "explain a verb", .operands = "[VERB…]", .most = CLI_DEPTH,
    .complete = CLI_VERBS, .lacks = GLOBALS_CLUSTER, .run = help_run,
    .text = "Explains a verb; without VERB, lists all verbs and the options they have in common. "
            "In addition to 'ydl VERB --help', shows files, variables, exit codes and JSON keys.",
    CLI_OPTS(struct args,
        { "all", 'a', CLI_FLAG, offsetof(struct args, all), NULL, NULL,
          "show all options, not only the common ones" },
        { "man", 0, CLI_FLAG, offsetof(struct args, man), NULL, NULL,
          "print the manual page, in the mdoc language" },
        { "man-dir", 0, CLI_TEXT, offsetof(struct args, man_dir), NULL, "DIR",
          "write all manual pages to DIR" },
        { "schema", 0, CLI_FLAG, offsetof(struct args, schema), NULL, NULL,
          "print the JSON Schema of job files, for editors and other programs" }),
    CLI_EXAMPLES({ "ydl help run", "explain 'ydl run'" },
                 { "ydl help -a run", "explain it with all options" },
                 { "ydl help --man run | man -l -", "show its manual page" },
                 { "ydl help --schema > ydl-job.schema.json", "let an editor check job files" }),
};
/* clang-format on */
