/* cluster_report_test.c - YARN's records as JSON and as short texts. */
#include "cmd/cluster/cluster_report.h"
#include "cmd/cluster/totals.h"
#include "test.h"

#include <string.h>

/* 4 GB, 2 cores, and `gpus` GPUs where that is not 0. */
struct resource {
    Yarn__Resource r;
    Yarn__ResourceInformation values[2], *list[2];
};

static Yarn__Resource *resource(struct resource *r, int64_t mb, int64_t gpus)
{
    *r = (struct resource){ 0 };
    yarn__resource__init(&r->r);
    for (int i = 0; i < 2; i++) {
        yarn__resource_information__init(&r->values[i]);
        r->list[i] = &r->values[i];
    }
    r->r.has_memory = r->r.has_virtual_cores = true;
    r->r.memory = mb;
    r->r.virtual_cores = 2;
    r->values[0].key = (char *)"memory-mb";
    r->values[0].value = 1; /* does not count: see records.h */
    r->values[1].key = (char *)"yarn.io/gpu";
    r->values[1].value = gpus;
    r->r.values = r->list;
    r->r.n_values = gpus ? 2 : 1;
    return &r->r;
}

static void a_resource_has_its_further_types_by_name(void **state)
{
    struct resource r;
    AUTO_JSON *v = fact_resource(resource(&r, 4096, 3));
    AUTO_FREE char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;

    (void)state;
    if (text)
        assert_string_equal(text,
                            "{\"memory_mb\":4096,\"vcores\":2,\"others\":{\"yarn.io/gpu\":3}}");
}

static void an_absent_resource_is_nothing_of_everything(void **state)
{
    AUTO_JSON *v = fact_resource(NULL);
    AUTO_FREE char *text = v ? json_dumps(v, JSON_COMPACT) : NULL;

    (void)state;
    if (text)
        assert_string_equal(text, "{\"memory_mb\":0,\"vcores\":0,\"others\":{}}");
}

static void nodes_are_added_up_by_type_and_never_overflow(void **state)
{
    AUTO_TOTALS t = { 0 };
    struct resource used, there;
    int r = totals_add(&t, resource(&used, 1024, 0), resource(&there, 4096, 2), NULL);

    (void)state;
    if (r == 0)
        r = totals_add(&t, NULL, resource(&there, INT64_MAX, 1), NULL);
    if (r < 0)
        return;
    assert_int_equal(t.memory_mb[0], 1024);
    assert_true(t.memory_mb[1] == INT64_MAX);
    assert_int_equal(t.vcores[1], 4);
    assert_int_equal(t.n_more, 1);
    assert_int_equal(t.more[0].amount[0], 0);
    assert_int_equal(t.more[0].amount[1], 3);
}

static void times_are_short(void **state)
{
    static const struct {
        int64_t from, to, now;
        const char *text;
    } rows[] = {
        { 0, 0, 5000, "-" },        { 1000, 0, 8000, "0:07" },
        { 1000, 66000, 0, "1:05" }, { 1000, 3724000, 0, "1:02:03" },
        { 9000, 1000, 0, "-" },     { -5, INT64_MAX, 0, "-" },
    };
    char out[FACT_SPAN];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(fact_span(rows[i].from, rows[i].to, rows[i].now, out), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resource_has_its_further_types_by_name),
        cmocka_unit_test(an_absent_resource_is_nothing_of_everything),
        cmocka_unit_test(nodes_are_added_up_by_type_and_never_overflow),
        cmocka_unit_test(times_are_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
