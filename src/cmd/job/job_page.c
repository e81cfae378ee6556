/* job_page.c - the manual page of the job file, ydl-job(5). Its keys come from the specification's
 * own table. */
#include "cmd/job/verbs.h"
#include "job/spec/spec.h"

#include <stdio.h>

static int job_page_print_schema(FILE *out, struct err *err)
{
    AUTO_JSON *schema = NULL;
    int r = spec_schema(&schema, err);

    return r < 0 ? r : json_print(out, schema, err);
}

static const struct cli_section sections[] = {
    { "VARIABLES",
      "In commands and in values of env these are replaced for each task:\n\n"
      "{job}\tThe job's id.\n"
      "{role}, {index}, {rank}\tThe task's role, and its number in it.\n"
      "{world}\tHow many tasks the role has.\n"
      "{local_rank}\tIts number in its container.\n"
      "{generation}, {attempt}\tHow often all tasks, and this one, were started again.\n"
      "{host}, {port}\tIts address, and its first port.\n"
      "{out}\tThe directory for results.\n"
      "{hosts:ROLE}\tAll addresses of a role, as host:port with commas between.\n"
      "{host:ROLE:N}, {port:ROLE:N}\tThe address of one task.\n"
      "{count:ROLE}\tHow many tasks a role has.\n\n"
      "Other text in braces stays as it is; {{rank}} stands for {rank} itself." },
    { "ENVIRONMENT",
      "Besides what its framework needs, each task has these:\n\n"
      "YDL_JOB, YDL_ROLE, YDL_INDEX, YDL_RANK, YDL_WORLD\tWho it is, and among how many.\n"
      "YDL_GENERATION, YDL_ATTEMPT\tHow often all tasks, and this one, were started again.\n"
      "YDL_HOST, YDL_PORT\tIts address, and its first port where it has one.\n"
      "YDL_SOCKET\tA socket for the job's store, barriers and reports of progress.\n"
      "YDL_SPEC\tA file with the addresses of all tasks, as ydl-spec(1) prints them.\n"
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
      "A server that must answer before the client is started:\n\n"
      "  roles:\n"
      "    server: {command: python serve.py, ports: 1, ready: {http: /health}, side: true}\n"
      "    client: {command: 'python ask.py {hosts:server}', after: {server: ready}}" },
    { 0 },
};

const struct cli_page job_pages[] = {
    { .name = "ydl-job",
      .summary = "job file of ydl",
      .section = 5,
      .text =
          "A job file says what ydl-run(1), ydl-submit(1) and ydl-plan(1) are to run. It is\n"
          "YAML, of which JSON is a part. A key that is not known is a mistake. All mistakes of\n"
          "a file are shown at once, each with its line. What options say wins over the file.\n\n"
          "'ydl help --schema' prints a JSON Schema of it, with which editors complete and check\n"
          "what is written.",
      .made_title = "KEYS",
      .make = spec_manual,
      .sections = sections,
      .schema = job_page_print_schema },
    { 0 },
};
