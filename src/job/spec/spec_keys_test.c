/* spec_keys_test.c - the key tables agree with themselves and with what is made of them */
#include "job/spec/spec_keys.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* The options of run, submit and plan that say something about the job. */
static const struct {
    const char *name;
    char letter;
} promised[] = {
    { "workers", 'n' },      { "servers", 's' },     { "role", 0 },        { "framework", 0 },
    { "name", 0 },           { "queue", 0 },         { "priority", 0 },    { "tag", 0 },
    { "label", 0 },          { "mem", 0 },           { "cpus", 0 },        { "gpus", 0 },
    { "procs", 0 },          { "env", 0 },           { "files", 0 },       { "archives", 0 },
    { "venv", 0 },           { "pip", 0 },           { "image", 0 },       { "restart", 0 },
    { "grace", 0 },          { "max-restarts", 0 },  { "gang-hold", 0 },   { "gang-retry", 0 },
    { "timeout", 0 },        { "output", 0 },        { "tensorboard", 0 }, { "nodes", 0 },
    { "image-by", 0 },       { "mount", 0 },         { "attempts", 0 },    { "staging", 0 },
    { "client-address", 0 }, { "native", 0 },        { "hadoop", 0 },      { "avoid", 0 },
    { "restart-delay", 0 },  { "restart-codes", 0 }, { "save-time", 0 },   { "publish", 0 },
    { "publish-path", 0 },   { "registry", 0 },
};

static void every_promised_option_is_there_and_no_other(void **state)
{
    const struct spec_key *flags[64];
    size_t n = spec_flags(flags, COUNT_OF(flags));

    (void)state;
    assert_int_equal(n, COUNT_OF(promised));
    for (size_t i = 0; i < COUNT_OF(promised); i++) {
        size_t found = 0;

        for (size_t j = 0; j < n; j++) {
            if (strcmp(flags[j]->flag, promised[i].name) != 0)
                continue;
            found++;
            assert_int_equal(flags[j]->letter, promised[i].letter);
            assert_non_null(flags[j]->meta);
        }
        assert_int_equal(found, 1);
    }
    assert_int_equal(spec_flags(NULL, 0), n);
}

static void lists_may_be_repeated_and_single_values_not(void **state)
{
    static const char *const repeated[] = { "role",   "env", "files", "archives",     "pip",
                                            "output", "tag", "mount", "restart-codes" };
    const struct spec_key *flags[64];
    size_t n = spec_flags(flags, COUNT_OF(flags)), count = 0;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        bool listed = false;

        for (size_t j = 0; j < COUNT_OF(repeated); j++)
            listed |= strcmp(flags[i]->flag, repeated[j]) == 0;
        assert_int_equal(spec_flag_repeats(flags[i]), listed);
        count += listed;
    }
    assert_int_equal(count, COUNT_OF(repeated));
}

static void check_table(const struct spec_key *table)
{
    for (const struct spec_key *k = table; k->name; k++) {
        assert_non_null(k->help);
        assert_true(strlen(k->help) > 5 && !str_ends(k->help, "."));
        assert_ptr_equal(spec_key_find(table, k->name), k); /* no name twice */
        assert_true((k->type == SPEC_CHOICE) == (k->choices != NULL));
        if (k->keys)
            check_table(k->keys);
        if (spec_is_number(k) && k->type != SPEC_CHOICE)
            assert_true(k->max > k->min);
    }
}

static void rows_are_complete(void **state)
{
    (void)state;
    check_table(spec_job_keys);
    check_table(spec_flag_keys);
}

/* The "properties" object holds exactly the keys of the table. */
static void same_keys(const json_t *schema, const struct spec_key *table)
{
    const json_t *properties = json_object_get(schema, "properties");
    bool open = table == spec_key_find(spec_job_keys, "output")->keys; /* directories, too */
    size_t n = 0;

    assert_true(open || json_is_false(json_object_get(schema, "additionalProperties")));
    for (const struct spec_key *k = table; k->name; k++, n++) {
        const json_t *p = json_object_get(properties, k->name), *inner;

        assert_true(json_is_object(p));
        assert_non_null(strstr(json_string_value(json_object_get(p, "description")), k->help));
        inner = k->type == SPEC_ROLES ? json_object_get(p, "additionalProperties") : p;
        if (k->keys)
            same_keys(json_array_get(json_object_get(inner, "anyOf"), 1), k->keys);
    }
    assert_int_equal(json_object_size(properties), n);
}

static void the_schema_has_the_keys_of_the_table(void **state)
{
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(spec_schema(&v, &err), 0);
    assert_string_equal(json_string_value(json_object_get(v, "$schema")),
                        "https://json-schema.org/draft/2020-12/schema");
    same_keys(v, spec_job_keys);
}

static void the_manual_has_the_keys_of_the_table(void **state)
{
    static const char *const some[] = {
        ("\ngrace\ttime between the request to stop and the kill (default: 30s). A duration such "
         "as "
         "30s, 5m or 1h30m. Option: --grace.\n"),
        "\nroles.NAME.count\tnumber of containers. Default: 1.\n",
        "\nroles.NAME.ready.http\tGET of this path on its first port returns 200.\n",
        "\nqueue\tqueue to submit to. On YARN only. Option: --queue.\n",
        "\noutput.publish.alias\talias that the new version gets.\n",
        "\ngang.retry\thow often to ask again (default: forever). Option: --gang-retry.\n",
    };
    AUTO_BUF b = { .max = 64 * KIB };
    const char *text;

    (void)state;
    assert_int_equal(spec_manual(&b), 0);
    text = buf_text(&b);
    assert_non_null(text);
    for (size_t i = 0; i < COUNT_OF(some); i++)
        assert_non_null(strstr(text, some[i]));
    for (const struct spec_key *k = spec_job_keys; k->name; k++)
        assert_non_null(strstr(text, k->help));
    for (const struct spec_key *k = spec_role_keys; k->name; k++)
        assert_non_null(strstr(text, k->help));
}

/* doc/reference/job-file.md names every key, in backquotes. */
static void the_document_names_every_key(void **state)
{
    AUTO_BUF b = { .max = 256 * KIB };
    FILE *in = fopen(YDL_SOURCE_DIR "/doc/reference/job-file.md", "re");
    char quoted[64], piece[4096];
    size_t n;

    (void)state;
    assert_non_null(in);
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        if (buf_add(&b, piece, n) < 0)
            break;
    fclose(in);
    assert_non_null(buf_text(&b));
    for (const struct spec_key *k = spec_job_keys; k->name; k++) {
        snprintf(quoted, sizeof(quoted), "`%s`", k->name);
        assert_non_null(strstr(buf_text(&b), quoted));
    }
    for (const struct spec_key *k = spec_role_keys; k->name; k++) {
        snprintf(quoted, sizeof(quoted), "`%s`", k->name);
        assert_non_null(strstr(buf_text(&b), quoted));
    }
}

static void numbers_are_written_in_their_largest_unit(void **state)
{
    static const struct {
        enum spec_type type;
        int64_t v;
        const char *text;
    } rows[] = {
        { SPEC_MS, 1, "1ms" },          { SPEC_MS, 1500, "1500ms" },
        { SPEC_MS, 90000, "90s" },      { SPEC_MS, 5400000, "90m" },
        { SPEC_MS, 86400000, "1d" },    { SPEC_SIZE, 1, "1" },
        { SPEC_SIZE, 1025, "1025" },    { SPEC_SIZE, 1536 << 20, "1536m" },
        { SPEC_SIZE, 2ll << 40, "2t" }, { SPEC_COUNT, 7, "7" },
        { SPEC_TIMES, -1, "forever" },  { SPEC_TIMES, 3, "3" },
        { SPEC_BOOL, 1, "true" },       { SPEC_MS, 0, "0" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct spec_key k = { .type = rows[i].type };
        char out[SPEC_NUMBER_MAX];

        assert_string_equal(spec_number_text(&k, rows[i].v, out), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_promised_option_is_there_and_no_other),
        cmocka_unit_test(lists_may_be_repeated_and_single_values_not),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(the_schema_has_the_keys_of_the_table),
        cmocka_unit_test(the_manual_has_the_keys_of_the_table),
        cmocka_unit_test(the_document_names_every_key),
        cmocka_unit_test(numbers_are_written_in_their_largest_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
