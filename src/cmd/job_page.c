/* job_page.c - the manual page of the job file, ydl-job(5). Its keys come from the specification's
 * own table. */
#include "cmd/verbs.h"
#include "job/spec/spec.h"

#include <stdio.h>

static int job_page_print_schema(FILE *out, struct err *err)
{
    AUTO_JSON *schema = NULL;
    int r = spec_schema(&schema, err);

    return r < 0 ? r : json_print(out, schema, err);
}

/* clang-format off */
const struct cli_page job_pages[] = { {
    .name = "ydl-job", .summary = "job file of ydl", .section = 5,
    .made_title = "KEYS", .make = spec_manual, .schema = job_page_print_schema,
    .text = "A job file describes a job for ydl-run(1), ydl-submit(1) and ydl-plan(1). It is YAML "
            "or JSON. Unknown keys are errors. All mistakes in a file are reported at once, each "
            "with its line number. Command-line options override the file.\n\n"
            "'ydl help --schema' prints a JSON Schema with which editors complete and check job "
            "files.",
    CLI_SECTIONS(
      { "VARIABLES",
        "In commands and in values of env, these are replaced for each task:\n\n"
        "{job}\tThe id of the job.\n"
        "{role}, {index}, {rank}\tThe role of the task, and its number within the role.\n"
        "{world}\tThe number of tasks of the role.\n"
        "{local_rank}\tIts number within its container.\n"
        "{generation}, {attempt}\tHow often all tasks, and this task, were restarted.\n"
        "{host}, {port}\tIts address, and its first port.\n"
        "{out}\tThe directory for results.\n"
        "{hosts:ROLE}\tThe addresses of a role, as host:port, separated by commas.\n"
        "{host:ROLE:N}, {port:ROLE:N}\tThe address of one task.\n"
        "{count:ROLE}\tThe number of tasks of a role.\n\n"
        "Other text in braces is left as it is. Write {{rank}} for a literal {rank}." },
      { "ENVIRONMENT",
        "In addition to the variables of its framework, each task has these:\n\n"
        "YDL_JOB, YDL_ROLE, YDL_INDEX, YDL_RANK, YDL_WORLD\tIts job, role and number, and the "
        "number of tasks.\n"
        "YDL_GENERATION, YDL_ATTEMPT\tHow often all tasks, and this task, were restarted.\n"
        "YDL_HOST, YDL_PORT\tIts address, and its first port if it has one.\n"
        "YDL_SOCKET\tA socket for the job's key-value store, barriers, progress reports and notes.\n"
        "YDL_SPEC\tA file with the addresses of all tasks, as printed by ydl-spec(1).\n"
        "YDL_OUT\tThe directory for results." },
      { "EXAMPLES",
        "Two workers and a parameter server:\n\n"
        "  name: mnist\n"
        "  framework: mxnet\n"
        "  roles:\n"
        "    server: {count: 1, memory: 1g}\n"
        "    worker: {count: 2, memory: 2g, cpus: 2}\n"
        "  command: python train.py --kv-store dist_sync\n"
        "  restart: {policy: task, max: 3, window: 1h}\n\n"
        "A server that must be ready before the client is started:\n\n"
        "  roles:\n"
        "    server: {command: python serve.py, ports: 1, ready: {http: /health}, side: true}\n"
        "    client: {command: 'python ask.py {hosts:server}', after: {server: ready}}" }),
}, { 0 } };
/* clang-format on */
