/* kv_note_test.c - what a task may write into the job's events; see kv_note.c. */
#include "base/str.h"
#include "rendezvous/kv.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct world {
    char said[400]; /* the last answer */
    char note[2000];
    unsigned notes;
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct world *w = user;

    assert_int_equal(task, 3);
    (void)id;
    (void)snprintf(w->said, sizeof(w->said), "%.*s%s%.*s", (int)words[0].n,
                   (const char *)words[0].p, n > 1 ? " " : "", n > 1 ? (int)words[1].n : 0,
                   n > 1 ? (const char *)words[1].p : "");
}

static int on_note(void *user, uint32_t task, const char *text, struct err *err)
{
    struct world *w = user;

    assert_int_equal(task, 3);
    if (str_eq(text, "one more"))
        return err_set(err, -EAGAIN, "too many");
    (void)snprintf(w->note, sizeof(w->note), "%s", text);
    w->notes++;
    return 0;
}

static void note(struct kv *k, uint64_t id, const void *text, size_t n)
{
    const struct kv_word words[] = { { "note", 4 }, { text, n } };
    const struct kv_ask ask = { 3, id, words, COUNT_OF(words), 0 };

    assert_int_equal(kv_request(k, &ask, NULL), 0);
}

static void a_note_is_a_line_that_people_can_read(void **state)
{
    static const struct {
        const char *text;
        size_t n; /* 0: all */
        bool good;
    } rows[] = {
        { "version 3 serves", 0, true },
        { "gr\xc3\xbcn \xe2\x86\x92 \xf0\x9f\x90\x8d", 0, true },
        { "  two  blanks", 0, true },
        { "   ", 0, false },
        { "a\nb", 0, false },
        { "a\tb", 0, false },
        { "a\x1b[2J", 0, false },
        { "a\x7f", 0, false },
        { "a\0b", 3, false },
        { "\xc3", 0, false },
        { "\xff\xfe", 0, false },
        { "\xc2\x9b", 0, false },
        { "\xed\xa0\x80", 0, false },
    };
    char longest[1026];
    struct world w = { { 0 } };
    const struct kv_events on = { .user = &w, .on_reply = on_reply, .on_note = on_note };
    struct kv *k = NULL;
    uint64_t id = 0;

    (void)state;
    assert_int_equal(kv_new(&on, &k, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        w.note[0] = '\0';
        note(k, ++id, rows[i].text, rows[i].n ? rows[i].n : strlen(rows[i].text));
        assert_string_equal(w.note, rows[i].good ? rows[i].text : "");
        if (rows[i].good)
            assert_string_equal(w.said, "ok");
        else
            assert_string_equal(w.said, "error note: TEXT is a line of at most 1024 bytes of UTF-8 "
                                        "without control characters");
    }
    memset(longest, 'x', sizeof(longest));
    note(k, ++id, longest, 1024);
    assert_string_equal(w.said, "ok");
    note(k, ++id, longest, 1025);
    assert_int_equal(strncmp(w.said, "error note: ", 12), 0);
    note(k, ++id, "one more", 8);
    assert_string_equal(w.said, "error note: too many");
    kv_free(k);
}

/* Its agent had lost the connection. */
static void a_note_that_is_asked_for_again_is_written_once(void **state)
{
    struct world w = { { 0 } };
    const struct kv_events on = { .user = &w, .on_reply = on_reply, .on_note = on_note };
    struct kv *k = NULL;

    (void)state;
    assert_int_equal(kv_new(&on, &k, NULL), 0);
    note(k, 7, "here", 4);
    w.said[0] = '\0';
    note(k, 7, "here", 4);
    assert_string_equal(w.said, "ok");
    assert_int_equal(w.notes, 1);
    note(k, 8, "here", 4); /* said twice */
    assert_int_equal(w.notes, 2);
    kv_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_is_a_line_that_people_can_read),
        cmocka_unit_test(a_note_that_is_asked_for_again_is_written_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
