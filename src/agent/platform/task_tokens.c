/* task_tokens.c - the file with the tokens that tasks use: the container's without the job's key,
 * and newer ones when the master sends them. */
#include "agent/platform/task_tokens.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/platform/agent_container.h"
#include "base/log.h"

static int write_file(struct agent *a, struct err *err)
{
    AUTO_CREDENTIALS *theirs = NULL;
    int r = yarn_boot_strip(a->container->credentials, &theirs, err);

    return r == 0 ? credentials_save(theirs, a->dirs.token_file, err) : r;
}

int tokens_begin(struct agent *a, struct err *err)
{
    int r;

    a->dirs.token_file = str_printf("%s/tokens", a->dirs.work);
    if (!a->dirs.token_file)
        return err_oom(err);
    r = write_file(a, err);
    return r < 0 ? err_wrap(err, r, "tokens for tasks") : 0;
}

/* Running tasks should reread the file when their tokens expire; those that keep the old ones
 * cannot be helped. */
void tokens_replace(struct agent *a, const Agent__Tokens *m)
{
    AUTO_CREDENTIALS *newer = NULL;
    struct err err = ERR_INIT;
    int r = credentials_parse(m->credentials.data, m->credentials.len, &newer, &err);

    if (r == 0) {
        credentials_free(a->container->credentials);
        a->container->credentials = take(newer);
        r = a->dirs.token_file ? write_file(a, &err) : 0;
    }
    if (r < 0) {
        err_wrap(&err, r, "newer tokens");
        report_note(a, err.text);
    } else {
        log_info(LOG_AGENT, "newer tokens have come");
    }
}
