/* submit.c - `ydl submit`: starts a job and prints its id. */
#include "cli/doc.h"
#include "client/job_call.h"
#include "client/job_wait.h"
#include "cmd/job/verbs.h"
#include "launch/launch_options.h"
#include "launch/start_job.h"
#include "loop/fiber.h"
#include "terminal/format.h"
#include "wire/http.h"

#include <stdio.h>

#define LOOK_MS 50

static int print_id(const struct job_call *x, struct err *err)
{
    if (!x->globals->json) {
        printf("%s\n", client_id(x->client));
        return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
    }
    return doc_print(err, "{s:s, s:o}", "job", client_id(x->client), "path",
                     json_text(client_home(x->client)));
}

/* The end of a job that was over before it could be said where its tasks listen. Quiet means no
 * notes; why a job failed is none. */
static int submit_tell_end(struct job_call *x, struct err *err)
{
    AUTO_JSON *status = NULL;
    int r = wait_end(x, 0, &status, err);

    if (r == 0 && x->globals->json)
        r = json_print(stdout, status, err);
    else if (r == 0)
        r = job_tell(status, client_logs(x->client), err);
    return r < 0 ? r : job_exit(status, err);
}

/* Where its tasks listen, in place of its id. Someone who interrupts leaves the job as it is. */
static int print_spec(struct job_call *x, const char *format, struct err *err)
{
    AUTO_BUF target = { .max = KIB };
    AUTO_BUF text = { .max = CLIENT_BODY_MAX };
    bool runs = false;
    int r = buf_add_str(&target, "/v1/spec?format=");

    if (r == 0)
        r = http_quote(&target, format);
    if (r < 0 || !buf_text(&target))
        return err_oom(err);
    while (!runs) {
        AUTO_JSON *status = NULL;

        r = client_status(x->client, false, &status, err);
        if (r == 0 && json_is_integer(json_object_get(status, "ended")))
            return submit_tell_end(x, err);
        runs = r == 0 && str_eq(format_text(status, "state"), "RUNNING");
        if (r == 0 && !runs)
            r = fiber_sleep(x->loop, LOOK_MS);
        if (r < 0)
            return r;
    }
    r = client_get(x->client, buf_text(&target), &text, err);
    if (r == 0 && text.len > 0 && fwrite(text.data, 1, text.len, stdout) != text.len)
        r = err_sys(err, "write to standard output");
    return r;
}

static int submit_work(struct job_call *x, struct err *err)
{
    const struct options *o = job_args(x);
    AUTO_SPEC s = { 0 };
    int r = start_job(x, &s, false, NULL, err);

    if (r != 0 || !x->client)
        return r;
    if (!x->globals->json)
        start_say(x, &s);
    if (o->spec)
        return print_spec(x, o->spec, err);
    r = print_id(x, err);
    return r < 0 || !o->wait ? r : wait_for_end(x, 0, err);
}

/* clang-format off */
const struct cli_verb verb_submit = {
    .name = "submit", .summary = "start a job and print its id", .operands = "[COMMAND…]",
    .most = CLI_ANY, .complete = CLI_COMMANDS, .command_follows = true, .lacks = OPTIONS_STAY,
    .opts = options_table, .args_size = sizeof(struct options), JOB_VERB(submit_work),
    .text = "Starts a job as 'ydl run' does, prints its id and leaves it running. Follow it with "
            "'ydl logs -f', wait for it with 'ydl wait', stop it with 'ydl stop'. With --wait, "
            "waits for the job and exits with its status; Ctrl-C then ends the wait, not the job.",
    CLI_EXAMPLES({ "ydl submit -f job.yaml", "start a job and return at once" },
                 { "job=$(ydl submit -q -n 2 -- python train.py); ydl wait $job",
                   "start a job, and wait for it later" }),
    CLI_SECTIONS(
      { "ENVIRONMENT",
        "YDL_ON\tDefault of --on: local or yarn.\n"
        "YDL_PLAN\tIf 1, print the plan and start nothing; see ydl-plan(1).\n"
        "XDG_STATE_HOME\tJobs of this machine are kept in $XDG_STATE_HOME/ydl (default: "
        "~/.local/state/ydl)." },
      { "JSON OUTPUT",
        "job\tThe job's id.\n"
        "path\tThe directory where its files are kept.\n\n"
        "With --wait, the document of ydl-wait(1) follows on a line of its own. With --spec, it is "
        "printed only if the job ends before all its tasks run." }),
};
/* clang-format on */
