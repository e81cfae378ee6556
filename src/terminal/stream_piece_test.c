/* stream_piece_test.c - see stream_piece.h */
#include "terminal/stream_piece.h"
#include "test.h"

#include <string.h>

static const char stream[] =
    "{\"event\":{\"seq\":3,\"t\":5,\"event\":\"task\",\"task\":\"worker:1\"}}\n"
    "{\"task\":\"worker:1\",\"stream\":\"out\",\"offset\":7,\"len\":14}\n"
    "hello,\nworld!\n"
    "{ \"event\" : {\"seq\":4} }\n"
    "{\"task\":\"ps:0\",\"stream\":\"err\",\"offset\":0,\"len\":0}\n"
    "{\"task\":\"worker:1\",\"stream\":\"out\",\"end\":true}\n"
    "{\"task\":\"ps:0\",\"stream\":\"err\",\"end\":true,\"missing\":\"too late\"}\n";

/* What comes out when the stream comes in pieces of `step` bytes, as a text. */
static bool between_pieces(const struct pieces *s)
{
    return s->left == 0 && s->in.len == s->eaten;
}

static void read_all(size_t step, struct buf *out)
{
    AUTO_PIECES s = { 0 };
    struct err err = ERR_INIT;
    struct piece p;
    int r;

    pieces_init(&s);
    for (size_t at = 0; at < sizeof(stream) - 1; at += step) {
        size_t n = sizeof(stream) - 1 - at < step ? sizeof(stream) - 1 - at : step;

        assert_int_equal(pieces_feed(&s, stream + at, n, &err), 0);
        while ((r = pieces_next(&s, &p, &err)) == 1) {
            if (p.kind == PIECE_EVENT)
                assert_int_equal(buf_printf(out, "<%.*s>", (int)p.record_n, p.record), 0);
            else if (p.kind == PIECE_END)
                assert_int_equal(buf_printf(out, "[end of %s %d%s%s]", p.task, p.stream,
                                            p.missing ? ": " : "", p.missing ? p.missing : ""),
                                 0);
            else
                assert_int_equal(buf_add(out, p.data, p.n), 0);
        }
        assert_int_equal(r, 0);
    }
    assert_true(between_pieces(&s));
}

static void pieces_come_out_however_they_were_cut(void **state)
{
    (void)state;
    for (size_t step = 1; step < sizeof(stream); step += 7) {
        AUTO_BUF out = { .max = 4096 };

        read_all(step, &out);
        assert_non_null(buf_text(&out));
        assert_string_equal(buf_text(&out),
                            "<{\"seq\":3,\"t\":5,\"event\":\"task\",\"task\":\"worker:1\"}>"
                            "hello,\nworld!\n<{\"seq\":4}>[end of worker:1 0]"
                            "[end of ps:0 1: too late]");
    }
}

static void offsets_count_what_was_handed_on(void **state)
{
    AUTO_PIECES s = { 0 };
    const char *head =
        "{\"task\":\"w:0\",\"stream\":\"err\",\"offset\":100,\"len\":6,\"began\":2,\"saved\":17}\n";
    struct piece p;

    (void)state;
    pieces_init(&s);
    assert_int_equal(pieces_feed(&s, head, strlen(head), NULL), 0);
    assert_int_equal(pieces_next(&s, &p, NULL), 0);
    assert_false(between_pieces(&s));
    assert_int_equal(pieces_feed(&s, "abc", 3, NULL), 0);
    assert_int_equal(pieces_next(&s, &p, NULL), 1);
    assert_int_equal(p.offset, 100);
    assert_int_equal(p.stream, PIECE_ERR);
    assert_int_equal(pieces_next(&s, &p, NULL), 0);
    assert_int_equal(pieces_feed(&s, "def", 3, NULL), 0);
    assert_int_equal(pieces_next(&s, &p, NULL), 1);
    assert_int_equal(p.offset, 103);
    assert_int_equal(p.began, 2);
    assert_int_equal(p.saved, 17);
    assert_memory_equal(p.data, "def", 3);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const char *const rows[] = {
        "\n",
        "no json\n",
        "[1]\n",
        "{}\n",
        "{\"event\":3}\n",
        "{\"task\":\"worker\",\"stream\":\"out\",\"len\":1}\n",
        "{\"task\":\"worker:x\",\"stream\":\"out\",\"len\":1}\n",
        "{\"task\":\"worker:-1\",\"stream\":\"out\",\"len\":1}\n",
        "{\"task\":\"wor ker:1\",\"stream\":\"out\",\"len\":1}\n",
        "{\"task\":\"worker:99999999999\",\"stream\":\"out\",\"len\":1}\n",
        "{\"task\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1\",\"len\":1}\n",
        "{\"task\":\"worker:1\",\"stream\":\"log\",\"len\":1}\n",
        "{\"task\":\"worker:1\",\"stream\":\"out\",\"len\":-1}\n",
        "{\"task\":\"worker:1\",\"stream\":\"out\",\"len\":\"1\"}\n",
        "{\"task\":\"worker:1\",\"stream\":\"out\",\"offset\":-5,\"len\":1}\n",
        "{\"task\":\"worker:1\",\"stream\":\"out\",\"offset\":5,\"len\":1,\"began\":-1}\n",
        "{\"task\":\"worker:1\",\"stream\":\"out\"}\n",
        "{\"task\":\"worker:1\",\"stream\":\"out\",\"end\":false}\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_PIECES s = { 0 };
        struct err err = ERR_INIT;
        struct piece p;

        pieces_init(&s);
        assert_int_equal(pieces_feed(&s, rows[i], strlen(rows[i]), &err), 0);
        assert_int_equal(pieces_next(&s, &p, &err), -EPROTO);
        assert_true(err.text[0] != '\0');
    }
}

static void a_line_without_an_end_is_refused(void **state)
{
    AUTO_PIECES s = { 0 };
    AUTO_FREE char *junk = malloc(64 * KIB);
    struct err err = ERR_INIT;
    struct piece p;
    int r = 0;

    (void)state;
    assert_non_null(junk);
    memset(junk, 'x', 64 * KIB);
    pieces_init(&s);
    for (size_t i = 0; r == 0 && i < 2 * MIB; i += 64 * KIB) {
        r = pieces_feed(&s, junk, 64 * KIB, &err);
        if (r == 0)
            r = pieces_next(&s, &p, &err);
    }
    assert_int_equal(r, -EPROTO);
    assert_true(s.in.cap <= 2 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_out_however_they_were_cut),
        cmocka_unit_test(offsets_count_what_was_handed_on),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_line_without_an_end_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
