/* spec_verb.c - `ydl spec`: where every task of a job listens. */
#include "client/job_call.h"
#include "cmd/job/verbs.h"

#include <stdio.h>

struct args {
    struct job_where where;
    int format;
};

static const char *const formats[] = { "json", "tf", "hosts", "env", "clusterspec", NULL };
#define JSON_FORMATS 2 /* the first of them are JSON */

static int spec_verb_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_FREE char *target = str_printf("/v1/spec?format=%s", formats[a->format]);
    AUTO_BUF text = { .max = CLIENT_BODY_MAX };
    int r = target ? client_alive(x->client, err) : err_oom(err);

    if (x->globals->json && a->format >= JSON_FORMATS)
        return cli_bad(err, "--format %s is not JSON: omit --format or --json", formats[a->format]);
    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, -ENOENT, "%s has ended: its tasks no longer have addresses",
                       client_id(x->client));
    r = client_get(x->client, target, &text, err);
    if (r < 0)
        return r;
    if (text.len > 0)
        fwrite(text.data, 1, text.len, stdout);
    if (text.len > 0 && text.data[text.len - 1] != '\n')
        putchar('\n');
    return 0;
}

/* clang-format off */
const struct cli_verb verb_spec = {
    .name = "spec", .summary = "print where the tasks of a job listen", .operands = "JOB",
    .least = 1, .most = 1, .ask = "Which job?", JOB_VERB_ON(spec_verb_work),
    .text = "Prints the host and ports of each task of a running job: its cluster specification, "
            "which each task finds in the file $YDL_SPEC.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "format", 0, CLI_CHOICE, offsetof(struct args, format), "json", "FORMAT",
          "output format: JSON, TensorFlow's TF_CONFIG, lines of host and port, variables for a "
          "shell, or the line of ydl-tf(1)", formats }),
    CLI_EXAMPLES({ "ydl spec mnist", "print the host and ports of every task" },
                 { "ydl spec mnist --format hosts", "print a line for each task" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "generation\tHow often all tasks were restarted together.\n"
        "roles\tAn object with a list for each role, by rank: objects with rank, host, node and "
        "ports.\n\n"
        "The output is the same without --json. --format tf is JSON, too; other formats cannot be "
        "combined with --json." }),
};
/* clang-format on */
