/* glob_test.c - patterns mean what they mean to Hadoop. */
#include "base/auto.h"
#include "hadoop/fs/glob.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void names_fit_their_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool want;
    } rows[] = {
        { "", "", true },
        { "", "a", false },
        { "abc", "abc", true },
        { "abc", "abcd", false },
        { "abcd", "abc", false },
        { "*", "", true },
        { "*", ".hidden", true }, /* Hadoop hides nothing */
        { "a*", "a", true },
        { "*a", "bba", true },
        { "*a*b*c*", "xxaxxbxxc", true },
        { "*a*b*c*", "xxaxxcxxb", false },
        { "a**b", "ab", true },
        { "?", "", false },
        { "?", "a", true },
        { "?", "\xc3\xa4", true }, /* one character, two bytes */
        { "??", "\xc3\xa4", false },
        { "a?c", "abc", true },
        { "[abc]", "b", true },
        { "[abc]", "d", false },
        { "[a-c]x", "cx", true },
        { "[a-c]", "d", false },
        { "[^a-c]", "d", true },
        { "[^a-c]", "b", false },
        { "[!a-c]", "d", true },
        { "[a-]", "-", true },
        { "[]]", "]", true },
        { "[^]]", "a", true },
        { "[^]]", "]", false },
        { "[\\]]", "]", true },
        { "[a\\-c]", "b", false },
        { "[\xc3\xa0-\xc3\xa6]", "\xc3\xa4", true },
        { "[\xc3\xa0-\xc3\xa6]", "\xc3\xb6", false },
        { "[abc", "[abc", true }, /* never closed: a bracket */
        { "\\*", "*", true },
        { "\\*", "a", false },
        { "\\\\", "\\", true },
        { "a\\?b", "a?b", true },
        { "a.b", "axb", false },
        { "a^b", "a^b", true },
        { "part-*.gz", "part-00001.gz", true },
        { "*\xff", "a\xff", true }, /* bytes that are no UTF-8 stand for themselves */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (glob_match(rows[i].pattern, rows[i].name) != rows[i].want)
            fail_msg("'%s' against '%s'", rows[i].pattern, rows[i].name);
}

/* A pattern that makes careless matchers try for hours. */
static void many_stars_do_not_take_for_ever(void **state)
{
    char name[2001];

    (void)state;
    memset(name, 'a', 2000);
    name[2000] = '\0';
    assert_false(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

static void braces_stand_for_several_patterns(void **state)
{
    static const struct {
        const char *pattern, *want;
    } rows[] = {
        { "/a", "/a" },
        { "/{a,b}", "/a /b" },
        { "/{a,b}{1,2}", "/a1 /a2 /b1 /b2" },
        { "/x{a/b,c}/y", "/xa/b/y /xc/y" },
        { "/{a,{b,c}}", "/a /b /c" },
        { "/{a,}", "/a /" },
        { "/{a}", "/a" },
        { "/\\{a,b\\}", "/\\{a,b\\}" },
        { "/[{,}]", "/[{,}]" },
        { "/a}", "/a}" },
        { "/a,b", "/a,b" },
        { "/{a\\,b,c}", "/a\\,b /c" },
        { "/{[,],b}", "/[,] /b" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_STRS got = { 0 };
        char all[200] = "";

        assert_int_equal(glob_expand(rows[i].pattern, &got, NULL), 0);
        for (size_t k = 0; k < got.n; k++)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k ? " " : "", got.v[k]);
        assert_string_equal(all, rows[i].want);
    }
}

static void broken_patterns_are_refused(void **state)
{
    AUTO_STRS got = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(glob_expand("/{a,b", &got, &err), -EINVAL);
    assert_string_equal(err.text, "'/{a,b': a { without its }");
    assert_int_equal(glob_expand("/a\\", &got, &err), -EINVAL);
    assert_string_equal(err.text, "'/a\\': nothing follows the last \\");
    assert_int_equal(glob_expand("{1,2,3,4,5,6,7,8,9}{1,2,3,4,5,6,7,8,9}{1,2,3,4,5,6,7,8,9}"
                                 "{1,2,3,4,5,6,7,8,9}{1,2,3,4,5,6,7,8,9}",
                                 &got, &err),
                     -E2BIG);
}

static void escapes_are_taken_away(void **state)
{
    AUTO_FREE char *a = glob_literal("a\\*b\\\\c", 7);

    (void)state;
    assert_string_equal(a, "a*b\\c");
    for (const char *p = "*?[{\\"; *p; p++)
        assert_true(glob_has((const char[]){ 'a', *p, '\0' }));
    assert_false(glob_has("a b}c]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_fit_their_patterns),
        cmocka_unit_test(many_stars_do_not_take_for_ever),
        cmocka_unit_test(braces_stand_for_several_patterns),
        cmocka_unit_test(broken_patterns_are_refused),
        cmocka_unit_test(escapes_are_taken_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
