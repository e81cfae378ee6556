/* app_move.c - `ydl cluster move ID QUEUE`: an application into another queue. */
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/verbs.h"

static int app_move_work(struct cluster *k, struct err *err)
{
    const char *queue = k->x->cli->operands[1];
    struct yarn_app_id id;
    char text[YARN_APP_ID_TEXT];
    int r = cluster_app_id(k->x->cli->operands[0], &id, err);

    if (r == 0)
        r = cluster_check_queue(k, queue, true, err);
    if (r == 0)
        r = yarn_move(k->yarn, id, queue, err);
    if (r < 0)
        return r;
    yarn_app_id_text(id, text);
    if (!k->json) {
        printf("moved %s to queue '%s'\n", text, queue);
        return 0;
    }
    return doc_print(err, "{s:{s:s, s:o}}", "application", "id", text, "queue", json_text(queue));
}

/* clang-format off */
const struct cli_verb verb_cluster_move = {
    .name = "move", .summary = "move an application to another queue", .operands = "ID QUEUE",
    .least = 2, .most = 2, CLUSTER_VERB(app_move_work),
    CLI_EXAMPLES({ "ydl cluster move application_1794718682665_0075 prod",
                   "move an application to the queue prod" }),
};
/* clang-format on */
