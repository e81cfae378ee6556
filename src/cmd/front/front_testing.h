/* front_testing.h - for tests of front ends: a line in, ydl's words out. */
#pragma once
#include "base/buf.h"
#include "cmd/front/front.h"
#include "test.h"
#include <string.h>

static const char *const front_no_env[] = { "PATH=/usr/bin:/bin", NULL };

/* A command line and what becomes of it. Words have blanks between, in both; a '~' stands for a
 * blank within a word; a command that runs before has '&&' after it. */
struct front_row {
    const char *line, *words; /* words: of ydl; NULL when the line is wrong … */
    const char *text;         /* … which is told so; or a note, when it is right; NULL: any */
    const char *const *env;   /* NULL: front_no_env */
};

static inline int front_words_of(const char *line, struct strs *ret)
{
    int r = strs_split(ret, line, " ");

    for (size_t i = 0; r == 0 && i < ret->n; i++)
        for (char *p = ret->v[i]; *p; p++)
            *p = *p == '~' ? ' ' : *p;
    return r;
}

static inline bool front_has_note(const struct front_call *c, const char *text)
{
    for (size_t i = 0; i < c->notes.n; i++)
        if (strstr(c->notes.v[i], text))
            return true;
    return false;
}

static inline void front_check(const struct front *f, const struct front_row *row)
{
    const char *const *env = row->env ? row->env : front_no_env;
    AUTO_BUF got = { .max = 64 * KIB };
    AUTO_FRONT_CALL call = { 0 };
    AUTO_STRS words = { 0 };
    struct err err = ERR_INIT;
    int r = front_words_of(row->line, &words);

    if (r == 0)
        r = front_translate(f, words.v, words.n, (char *const *)env, &call, &err);
    for (size_t i = 0; r == 0 && i < call.before.n; i++)
        r = buf_printf(&got, "%s ", call.before.v[i]);
    if (r == 0 && call.before.n > 0)
        r = buf_printf(&got, "&& ");
    for (size_t i = 0; r == 0 && i < call.words.n; i++)
        r = buf_printf(&got, "%s%s", i ? " " : "", call.words.v[i]);
    if (r == -ENOMEM || (r == 0 && !buf_text(&got)))
        return; /* the torture build */
    if (!row->words) {
        assert_int_equal(r, CLI_USAGE);
        assert_string_equal(err.text, row->text);
        return;
    }
    if (r < 0)
        fail_msg("%s: %s", row->line, err.text);
    assert_string_equal(buf_text(&got), row->words);
    if (row->text && !front_has_note(&call, row->text))
        fail_msg("%s: no note says '%s'", row->line, row->text);
    if (!row->text && call.notes.n > 0)
        fail_msg("%s: it says '%s'", row->line, call.notes.v[0]);
}
