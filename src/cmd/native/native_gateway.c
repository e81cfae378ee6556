/* native_gateway.c - `ydl-native gateway`: HAProxy in front of model servers. */
#include "base/path.h"
#include "base/str.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "native/haproxy_find.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/haproxy_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct args {
    const char *haproxy, *dir, *control;
};

#define AT(field) offsetof(struct args, field)
/* clang-format off */
static const struct cli_opt opts[] = {
    { "control", 0, CLI_TEXT, AT(control), NULL, "PATH",
      "the control socket", .fallback = "DIR/control.sock" },
    { "dir",     0, CLI_TEXT, AT(dir),     NULL, "DIR",
      "directory for HAProxy's files", .fallback = "a temporary one" },
    { "haproxy", 0, CLI_TEXT, AT(haproxy), NULL, "PATH",
      "the HAProxy to run", .fallback = "from PATH, or the active Python environment" },
    { 0 },
};
/* clang-format on */

/* ---- running ---- */

struct gateway_verb {
    struct cli *cli;
    struct gateway_options o;
    struct err *err;
};

static void gateway_on_ready(void *user, const char *host, int port)
{
    const bool six = strchr(host, ':') != NULL;

    (void)user;
    printf("%s%s%s:%d\n", six ? "[" : "", host, six ? "]" : "", port);
    (void)fflush(stdout);
}

static void gateway_on_note(void *user, const char *text)
{
    native_note(((struct gateway_verb *)user)->cli, text);
}

static int gateway_work(void *arg)
{
    struct gateway_verb *v = arg;

    return gateway_run(&v->o, v->err);
}

static int gateway_in_dir(struct cli *c, const char *dir, const char *program, struct err *err)
{
    const struct args *a = c->args;
    AUTO_FREE char *control = a->control ? strdup(a->control) : path_join(dir, "control.sock");
    struct gateway_verb v = { .cli = c,
                              .o = { .program = program,
                                     .spec = c->operands[0],
                                     .dir = dir,
                                     .control = control,
                                     .on_ready = gateway_on_ready,
                                     .note = gateway_on_note },
                              .err = err };
    int r;

    if (!control)
        return err_oom(err);
    v.o.user = &v;
    r = loop_new(&v.o.loop, err);
    if (r < 0)
        return r;
    r = loop_run(v.o.loop, gateway_work, &v, true);
    loop_free(v.o.loop);
    return r;
}

static int native_gateway_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;
    const char *tmp = getenv("TMPDIR");
    AUTO_FREE char *program = NULL;
    AUTO_FREE char *dir = NULL;
    int r = haproxy_find(a->haproxy, &program, err);

    if (r < 0)
        return r;
    (void)signal(SIGPIPE, SIG_IGN);
    if (a->dir) {
        r = path_mkdirs(a->dir, 0700, err);
        if (r < 0)
            return r;
        dir = realpath(a->dir, NULL);
    } else {
        dir = str_printf("%s/ydl-gateway-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
        if (dir && !mkdtemp(dir))
            return err_sys(err, "make a directory like '%s'", dir);
    }
    if (!dir)
        return err_oom(err);
    r = gateway_in_dir(c, dir, program, err);
    if (!a->dir)
        (void)path_remove(dir, NULL);
    return r;
}

static const struct cli_section sections[] = {
    { "CONTROL",
      "The control socket takes one JSON command per line and answers each with one line:\n"
      "\n"
      "{\"do\": \"status\"}\tShows versions and replicas: state, requests per second, p50 and "
      "p99.\n"
      "{\"do\": \"apply\", \"spec\": PATH}\tReads the spec again, or another file.\n"
      "{\"do\": \"canary\", \"model\": NAME, \"percent\": P}\tChanges the canary's share.\n"
      "{\"do\": \"drain\", \"replica\": NAME, \"wait\": \"30s\"}\tSends a replica no new requests "
      "and\n"
      "waits until it is idle." },
    { 0 },
};

static const struct cli_example examples[] = {
    { "ydl-native gateway gateway.json", "run a gateway; prints its address" },
    { "ydl-native gateway --control /run/g.sock gateway.json",
      "run it with a control socket at a known place" },
    { 0 },
};

const struct cli_verb verb_native_gateway = {
    .name = "gateway",
    .summary = "run HAProxy in front of model servers",
    .text =
        "Sends requests to the replicas that the JSON file SPEC lists, to the least busy one "
        "that is\n"
        "ready. Prints its address when it accepts connections, and runs until it gets SIGTERM.\n"
        "HAProxy ends with it, and is restarted on the same port if it dies.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "SPEC",
    .least = 1,
    .most = 1,
    .complete = CLI_FILES,
    .ask = "Which replicas? Try: ydl-native gateway gateway.json",
    .examples = examples,
    .sections = sections,
    .run = native_gateway_run,
};

static int native_haproxy_child_run(struct cli *c, struct err *err)
{
    int64_t parent = 0;

    if (str_to_i64(c->operands[0], 1, INT32_MAX, &parent) < 0)
        return cli_bad(err, "'%s' is not a process", c->operands[0]);
    return haproxy_become((pid_t)parent, c->operands + 1, err);
}

const struct cli_verb verb_native_haproxy_child = {
    .name = "haproxy-child",
    .summary = "become HAProxy and end with the gateway (started by the gateway)",
    .hidden = true,
    .operands = "PARENT PROGRAM [ARGUMENT…]",
    .least = 2,
    .most = CLI_ANY,
    .command_follows = true,
    .run = native_haproxy_child_run,
};
