/* serve_address.c - `ydl serve address`: where a deployment answers, and with --watch where it does
 * whenever that changes. A gateway that was started again elsewhere has another address; the job's
 * master knows it. */
#include "cli/doc.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_direct.h"
#include "cmd/serve/serve_request.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 1000

struct args {
    struct job_where where;
    bool watch;
};

struct address_watch {
    struct job_call *x;
    const json_t *plan;
    bool direct;
    json_t *told; /* what was printed last; NULL: nothing yet */
};

/* The caller's. */
static json_t *address_urls(const struct address_watch *w, const json_t *status)
{
    AUTO_JSON *report = NULL;

    if (!w->direct)
        return serve_urls(status, w->plan);
    report = serve_report(w->x, 0);
    return serve_direct_urls(report);
}

static int address_json(const struct address_watch *w, const json_t *urls, json_t **ret,
                        struct err *err)
{
    return json_make(ret, err, "{s:s, s:s, s:O?, s:O}", "name", w->x->cli->operands[0], "job",
                     client_id(w->x->client), "url", json_array_get(urls, 0), "urls",
                     (json_t *)urls);
}

/* One line, which says all of them. */
static int address_print_line(const struct address_watch *w, const json_t *urls, struct err *err)
{
    AUTO_FREE char *text = NULL;
    AUTO_JSON *doc = NULL;
    const json_t *one;
    size_t i;
    int r;

    if (w->x->globals->json) {
        r = address_json(w, urls, &doc, err);
        text = r == 0 ? json_dumps(doc, JSON_COMPACT) : NULL;
        if (!text)
            return r < 0 ? r : err_oom(err);
        printf("%s\n", text);
    } else {
        json_array_foreach(urls, i, one) printf("%s%s", i ? " " : "", json_string_value(one));
        putchar('\n');
    }
    return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
}

static int address_print(const struct address_watch *w, const json_t *urls, struct err *err)
{
    AUTO_JSON *doc = NULL;
    const json_t *one;
    size_t i;
    int r = w->x->globals->json ? address_json(w, urls, &doc, err) : 0;

    if (r < 0 || doc)
        return r < 0 ? r : json_print(stdout, doc, err);
    json_array_foreach(urls, i, one) printf("%s\n", json_string_value(one));
    return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
}

/* What is not known for a moment, as its gateway starts, changes nothing. */
static int address_look(struct address_watch *w, const json_t *status, struct err *err)
{
    AUTO_JSON *urls = address_urls(w, status);
    int r;

    if (!urls)
        return err_oom(err);
    if (json_array_size(urls) == 0 || (w->told && json_equal(urls, w->told)))
        return 0;
    r = address_print_line(w, urls, err);
    if (r < 0)
        return r;
    json_decref(w->told);
    w->told = json_incref(urls);
    return 0;
}

/* What was stopped has done what it should; what ended by itself has not. */
static int address_ended(const struct address_watch *w, const json_t *status, struct err *err)
{
    if (!w->x->globals->quiet)
        fprintf(stderr, "ydl: the deployment '%s' has ended\n", w->x->cli->operands[0]);
    return str_eq(format_text(status, "state"), "KILLED") ? 0 : job_exit(status, err);
}

/* A master that is replaced is waited for, as long as YARN needs; a deployment that has ended is
 * known by its files. */
static int address_ask(struct address_watch *w, json_t **ret, struct err *err)
{
    int r = client_status(w->x->client, true, ret, err);

    if (r < 0)
        r = client_again(w->x->client, r, err);
    if (r < 0 || *ret)
        return r < 0 ? r : 0;
    err_clear(err);
    return client_status(w->x->client, true, ret, err);
}

static int address_watch(struct address_watch *w, const json_t *first, struct err *err)
{
    AUTO_JSON *status = json_incref((json_t *)first);
    int r;

    client_set_patience(w->x->client, CLIENT_LONG_MS);
    while (!json_is_integer(json_object_get(status, "ended"))) {
        r = address_look(w, status, err);
        if (r == 0 && (r = fiber_sleep(w->x->loop, LOOK_MS)) < 0)
            return err_set(err, r, "interrupted");
        json_decref(status);
        status = NULL;
        if (r == 0)
            r = address_ask(w, &status, err);
        if (r < 0)
            return r;
    }
    return address_ended(w, status, err);
}

static int address_once(const struct address_watch *w, const json_t *status, struct err *err)
{
    AUTO_JSON *urls = address_urls(w, status);

    if (!urls)
        return err_oom(err);
    if (json_array_size(urls) == 0)
        return err_set(err, -EAGAIN, "the deployment '%s' has no address yet",
                       w->x->cli->operands[0]);
    return address_print(w, urls, err);
}

static int serve_address_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    struct address_watch w = { .x = x };
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    int r = serve_find(x, &status, err);

    if (r == 0)
        r = serve_plan(x, &plan, err);
    if (r < 0)
        return r;
    w.plan = plan;
    w.direct = serve_is_direct(plan);
    r = a->watch ? address_watch(&w, status, err) : address_once(&w, status, err);
    json_decref(w.told);
    return r;
}

/* clang-format off */
const struct cli_verb verb_serve_address = {
    .name = "address", .summary = "print the address of a deployment", .operands = "DEPLOYMENT",
    .least = 1, .most = 1, .ask = "Which deployment? Try: ydl serve list",
    JOB_VERB(serve_address_work),
    .text = "Prints where a deployment answers, one address on each line. With --watch, prints it "
            "again whenever it has changed, because its gateway was started on another machine: "
            "one line for each change, with all addresses. Goes on while the job's master is "
            "replaced, and ends with the deployment.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "watch", 'w', CLI_FLAG, offsetof(struct args, watch), NULL, NULL,
          "keep running, and print a line whenever the address changes", .group = CLI_OUTPUT }),
    CLI_EXAMPLES({ "curl $(ydl serve address resnet)/v2/models/resnet", "ask a deployment" },
                 { "ydl serve address resnet --watch | while read -r url; do reload \"$url\"; done",
                   "tell a program where it is now" }),
    CLI_SECTIONS(
      { "EXIT STATUS",
        "0\tIt was printed. With --watch: the deployment was stopped.\n"
        "1\tThere is no such deployment. With --watch: it ended by itself; other failures give the "
        "exit status of its task.\n"
        "69\tThe cluster cannot be reached.\n"
        "75\tIt has no address yet: its gateway is being started.\n"
        "130\tInterrupted." }),
};
/* clang-format on */
