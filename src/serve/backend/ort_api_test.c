/* ort_api_test.c - the places of functions in ONNX Runtime's table, which never change. */
#include "base/auto.h"
#include "serve/backend/ort_api.h"
#include "test.h"

#define PLACE(field) (offsetof(struct ort_api, field) / sizeof(void *))

static void functions_stand_where_the_library_has_them(void **state)
{
    static const struct {
        size_t is, is_to_be;
    } rows[] = {
        { PLACE(get_code), 1 },
        { PLACE(get_message), 2 },
        { PLACE(create_env), 3 },
        { PLACE(create_session), 7 },
        { PLACE(run), 9 },
        { PLACE(create_options), 10 },
        { PLACE(set_optimization), 23 },
        { PLACE(set_intra_threads), 24 },
        { PLACE(set_inter_threads), 25 },
        { PLACE(input_count), 30 },
        { PLACE(output_count), 31 },
        { PLACE(input_type), 33 },
        { PLACE(output_type), 34 },
        { PLACE(input_name), 36 },
        { PLACE(output_name), 37 },
        { PLACE(create_tensor), 48 },
        { PLACE(tensor_data), 51 },
        { PLACE(create_tensor_with_data), 49 },
        { PLACE(is_tensor), 50 },
        { PLACE(fill_strings), 52 },
        { PLACE(strings_size), 53 },
        { PLACE(get_strings), 54 },
        { PLACE(cast_to_tensor), 55 },
        { PLACE(type_kind), 56 },
        { PLACE(element_type), 60 },
        { PLACE(rank), 61 },
        { PLACE(dims), 62 },
        { PLACE(value_info), 65 },
        { PLACE(create_cpu_memory), 69 },
        { PLACE(allocator_free), 76 },
        { PLACE(default_allocator), 78 },
        { PLACE(release_status), 93 },
        { PLACE(release_session), 95 },
        { PLACE(release_value), 96 },
        { PLACE(release_type), 98 },
        { PLACE(release_value_info), 99 },
        { PLACE(release_options), 100 },
        { PLACE(providers), 125 },
        { PLACE(release_providers), 126 },
        { PLACE(add_config), 130 },
        { PLACE(append_cuda), 152 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(rows[i].is, rows[i].is_to_be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_stand_where_the_library_has_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
