/* tokens_verb.c - `ydl tokens`: newer delegation tokens for a job, got with the keytab that came
 * with it. A job's master runs this in its own container (master/yarn/keytab.c), where it has the
 * keytab as standard input, and reads what it says:
 *
 *     MILLISECONDS\n      for which they are good from now on
 *     HDTS…               a credentials file
 */
#include "base/path.h"
#include "client/connect.h"
#include "cmd/job/verbs.h"
#include "launch/submit_tokens.h"

#include <unistd.h>

#define TOKENS_MAX MIB

static int tokens_verb_print(const struct credentials *c, int64_t ms, struct err *err)
{
    AUTO_BUF out = { .max = TOKENS_MAX };
    int r = buf_printf(&out, "%lld\n", (long long)ms);

    r = r < 0 ? err_oom(err) : credentials_write(c, &out, err);
    if (r == 0 && path_write_fd(STDOUT_FILENO, out.data, out.len) < 0)
        r = err_sys(err, "write the tokens");
    buf_wipe(&out);
    return r;
}

static int tokens_verb_work(struct connection *x, void *arg, struct err *err)
{
    AUTO_CREDENTIALS *c = NULL;
    AUTO_STRS places = { 0 };
    int64_t ms = 0;
    int r = credentials_new(&c, err);

    (void)arg;
    for (size_t i = 0; r == 0 && i < x->cli->n_operands; i++)
        r = strs_add(&places, x->cli->operands[i]) < 0 ? err_oom(err) : 0;
    if (r == 0)
        r = deploy_tokens_again(x->session, &places, c, &ms, err);
    if (r == 0 && ms <= 0)
        r = err_set(err, -ENODATA, "the NameNode issued no token");
    return r < 0 ? r : tokens_verb_print(c, ms, err);
}

/* Whoever holds a terminal here would get secrets on it. */
static int tokens_verb_run(struct cli *c, struct err *err)
{
    if (isatty(STDOUT_FILENO))
        return cli_bad(err, "this verb is for the master of a job: it prints secrets");
    return connect_run(c, CONNECT_CONFIGURED, tokens_verb_work, NULL, err);
}

/* clang-format off */
const struct cli_verb verb_tokens = {
    .name = "tokens", .summary = "get newer tokens for a job (run by its master)",
    .operands = "PLACE…", .least = 1, .most = CLI_ANY, .hidden = true, .run = tokens_verb_run,
};
/* clang-format on */
