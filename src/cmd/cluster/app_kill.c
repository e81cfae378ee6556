/* app_kill.c - `ydl cluster kill ID`: ends an application. */
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/verbs.h"

static int app_kill_tell(struct cluster *k, const Yarn__ApplicationReport *a, bool killed,
                         struct err *err)
{
    const char *state = yarn_app_state_name(a->state);
    char id[YARN_APP_ID_TEXT];

    yarn_app_id_text(yarn_app_id_of(a->application_id), id);
    if (!k->json) {
        if (killed)
            printf("killed %s\n", id);
        else
            printf("%s has already ended: %s\n", id, state);
        return 0;
    }
    return doc_print(err, "{s:{s:s, s:s, s:s, s:b}}", "application", "id", id, "state", state,
                     "final_status", yarn_final_status_name(a->final_status), "killed",
                     (int)killed);
}

static int app_kill_work(struct cluster *k, struct err *err)
{
    AUTO_RPC Yarn__GetApplicationReportResponse *before = NULL;
    AUTO_RPC Yarn__GetApplicationReportResponse *after = NULL;
    AUTO_FREE char *why = str_printf("killed by %s with ydl", session_user(k->x->session));
    struct yarn_app_id id;
    int r;

    if (!why)
        return err_oom(err);
    r = cluster_app_id(k->x->cli->operands[0], &id, err);
    if (r < 0)
        return r;
    r = yarn_report(k->yarn, id, &before, err);
    if (r < 0)
        return r;
    if (yarn_app_state_final(before->report->state))
        return app_kill_tell(k, before->report, false, err);
    r = yarn_kill(k->yarn, id, why, loop_in(k->x->loop, k->x->globals->timeout), err);
    if (r < 0)
        return r;
    r = yarn_report(k->yarn, id, &after, err);
    if (r < 0)
        return r;
    return app_kill_tell(k, after->report,
                         after->report->state == YARN__APPLICATION_STATE__APP_KILLED, err);
}

/* clang-format off */
const struct cli_verb verb_cluster_kill = {
    .name = "kill", .summary = "kill an application", .operands = "ID", .least = 1, .most = 1,
    .ask = "Which application?", CLUSTER_VERB(app_kill_work),
    .text = "Kills an application at once and waits until it has ended.",
    CLI_EXAMPLES({ "ydl cluster kill application_1794718682665_0075", "kill an application" }),
};
/* clang-format on */
