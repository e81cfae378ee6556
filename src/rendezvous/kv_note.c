/* kv_note.c - the verb "note TEXT": a sentence for the job's events, checked and passed on. */
#include "base/str.h"
#include "rendezvous/kv_private.h"

#include <string.h>

#define NOTE_MAX 1024

/* Something that people can read, on one line. */
static bool is_note(const char *s, size_t n)
{
    bool any = false;
    size_t used;

    for (const char *end = s + n; s < end; s += used) {
        used = str_utf8_len(s);
        if (used == 0 || (used == 1 && ((unsigned char)*s < ' ' || *s == 0x7f)))
            return false;
        any = any || *s != ' ';
    }
    return any;
}

int kv_note(struct kv *k, const struct kv_ask *a, struct err *err)
{
    const struct kv_word *w = &a->words[1];
    AUTO_FREE char *text = w->n <= NOTE_MAX ? calloc(1, NOTE_MAX + 1) : NULL;
    struct err why = ERR_INIT;

    if (w->n <= NOTE_MAX && !text)
        return err_oom(err);
    if (text && w->n)
        memcpy(text, w->p, w->n);
    if (!text || !is_note(text, w->n))
        kv_answer_error(k, a,
                        "note: TEXT is a line of at most %d bytes of UTF-8 without control "
                        "characters",
                        NOTE_MAX);
    else if (!k->on.on_note)
        kv_answer_error(k, a, "this job has no events for notes");
    else if (k->on.on_note(k->on.user, a->task, text, &why) < 0)
        kv_answer_error(k, a, "note: %s", why.text);
    else
        kv_answer(k, a, "ok");
    return 0;
}
