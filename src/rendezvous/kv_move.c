/* kv_move.c - the verbs "leaving ROLE …", which tasks of these roles are to leave their containers,
 * and "move TASK ATTEMPT", which sends one of them elsewhere. What is true of either is the
 * master's to know. */
#include "base/str.h"
#include "rendezvous/kv_private.h"

#include <string.h>

int kv_leaving(struct kv *k, const struct kv_ask *a, struct err *err)
{
    AUTO_BUF text = { .max = KV_LEAVING_MAX };

    if (!k->on.on_leaving) {
        kv_answer_value(k, a, "", 0);
        return 0;
    }
    if (k->on.on_leaving(k->on.user, a->words + 1, a->n - 1, &text) < 0)
        return err_oom(err);
    kv_answer_value(k, a, text.len ? text.data : (const void *)"", text.len);
    return 0;
}

/* Asked again it is the same again: a start of a task moves once. */
int kv_move(struct kv *k, const struct kv_ask *a, struct err *err)
{
    AUTO_FREE char *task = strndup(a->words[1].p, a->words[1].n);
    struct err why = ERR_INIT;
    int64_t attempt = 0;

    if (!task)
        return err_oom(err);
    if (kv_number(&a->words[2], 0, UINT32_MAX, &attempt) < 0)
        kv_answer_error(k, a, "move: ATTEMPT is a whole number from 0 on");
    else if (!k->on.on_move)
        kv_answer_error(k, a, "the tasks of this job cannot be moved");
    else if (k->on.on_move(k->on.user, a->task, task, (uint32_t)attempt, &why) < 0)
        kv_answer_error(k, a, "move: %s", why.text);
    else
        kv_answer(k, a, "ok");
    return 0;
}
