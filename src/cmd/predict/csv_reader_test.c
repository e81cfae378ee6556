/* csv_reader_test.c - see csv_reader.h */
#include "base/str.h"
#include "cmd/predict/csv_reader.h"
#include "test.h"

#include <string.h>

/* Reads `text`, `piece` bytes at a time: "LINE:cell|cell …" for each record; the error's text when
 * it ends with one. */
static char *read_all(const char *text, size_t n, size_t piece)
{
    AUTO_CSV c = { 0 };
    AUTO_BUF out = { .max = MIB };
    struct csv_record record;
    struct err err = ERR_INIT;
    uint8_t *room;
    int r;

    csv_init(&c);
    while ((r = csv_next(&c, &record, &err)) > 0 || (r == 0 && !c.ended)) {
        size_t many = n < piece ? n : piece;

        if (r > 0) {
            assert_int_equal(buf_printf(&out, "%lld:", (long long)record.line), 0);
            for (size_t i = 0; i < record.n; i++)
                assert_int_equal(buf_printf(&out, "%s%s", i ? "|" : "", record.cells[i]), 0);
            assert_int_equal(buf_add_str(&out, " "), 0);
            continue;
        }
        assert_int_equal(csv_room(&c, piece, &room), 0);
        memcpy(room, text, many);
        csv_filled(&c, many);
        text += many;
        n -= many;
    }
    if (r < 0)
        assert_int_equal(buf_add_str(&out, err.text), 0);
    return str_printf("%s", buf_text(&out));
}

static void assert_records(const char *text, size_t n, const char *wanted)
{
    static const size_t pieces[] = { 1, 2, 3, 7, 4096 };

    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        AUTO_FREE char *got = read_all(text, n, pieces[i]);

        assert_string_equal(got, wanted);
    }
}

static void files_are_read_whatever_pieces_they_come_in(void **state)
{
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        { "", "" },
        { "\n\n", "" },
        { "1,2\n3,4\n", "1:1|2 2:3|4 " },
        { "1,2\r\n\r\n3,4", "1:1|2 3:3|4 " },
        { "\xef\xbb\xbf"
          "a,b\n1,2\n",
          "1:a|b 2:1|2 " },
        { "a;b\n1,5;2\n", "1:a|b 2:1,5|2 " },
        { "a\tb,c\n1\t2\n", "1:a|b,c 2:1|2 " },
        { " 1 , 2 \n", "1:1|2 " },
        { ",\n", "1:| " },
        { "\"a,b\",\"say \"\"x\"\"\"\n1,2", "1:a,b|say \"x\" 2:1|2 " },
        { "\"two\nlines\",1\n2,3\n", "1:two\nlines|1 3:2|3 " },
        { "5\" pipe,1\n2,3\n", "1:5\" pipe|1 2:2|3 " },
        { "7", "1:7 " },
        { "1\n\"open\n\n", "1:1 line 2: a quote (\") is opened here and never closed" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_records(rows[i].text, strlen(rows[i].text), rows[i].wanted);
}

static void what_is_not_text_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_records("1,2\n3,\0\n", 8, "1:1|2 line 2: this is not text: it has a byte of 0");
}

static void a_record_that_never_ends_is_refused(void **state)
{
    AUTO_CSV c = { 0 };
    struct csv_record record;
    uint8_t *room;
    int r = 0;

    (void)state;
    csv_init(&c);
    for (size_t n = 0; n <= CSV_RECORD_MAX && r == 0; n += MIB) {
        assert_int_equal(csv_next(&c, &record, NULL), 0);
        r = csv_room(&c, MIB, &room);
        if (r == 0) {
            memset(room, '1', MIB);
            csv_filled(&c, MIB);
        }
    }
    assert_int_equal(r, -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_whatever_pieces_they_come_in),
        cmocka_unit_test(what_is_not_text_is_refused_with_its_line),
        cmocka_unit_test(a_record_that_never_ends_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
