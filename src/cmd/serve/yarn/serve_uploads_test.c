/* serve_uploads_test.c - what travels to the nodes of a deployment. See serve_uploads.h. */
#include "base/path.h"
#include "cmd/serve/yarn/serve_uploads.h"
#include "test.h"

#include <errno.h>
#include <string.h>

#define LIBRARY "libonnxruntime.so.1.31.1"
#define SHARED "libonnxruntime_providers_shared.so"
#define CUDA "libonnxruntime_providers_cuda.so"

struct world {
    char top[TEST_PATH];
    char *library, *haproxy;
    struct serve_model model;
    struct serve_job job;
    struct serve_uploads uploads;
    struct err err;
};

static char *world_file(const struct world *w, const char *name)
{
    AUTO_FREE char *path = path_join(w->top, name);

    assert_non_null(path);
    assert_int_equal(path_write_unflushed(path, "x", 1, 0700, NULL), 0);
    return take(path);
}

static int world_set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_true(w && test_dir(w->top, "uploads"));
    w->library = world_file(w, LIBRARY);
    w->haproxy = world_file(w, "haproxy");
    w->model.v.m.format = "onnx";
    w->model.v.library = w->library;
    w->job = (struct serve_job){ .models = &w->model, .n = 1, .haproxy = w->haproxy };
    *state = w;
    return 0;
}

static int world_tear_down(void **state)
{
    struct world *w = *state;

    serve_uploads_done(&w->uploads);
    (void)path_remove(w->top, NULL);
    free(w->library);
    free(w->haproxy);
    free(w);
    return 0;
}

static int world_make(struct world *w, const char *device)
{
    serve_uploads_done(&w->uploads);
    w->model.device = device;
    w->job.haproxy = w->haproxy;
    return serve_uploads_make(&w->job, &w->model, &w->uploads, &w->err);
}

/* Where a task finds the file of that name; NULL: it does not travel. */
static const char *world_to(const struct world *w, const char *name)
{
    const json_t *file;
    size_t i;

    json_array_foreach(w->uploads.models[0], i, file)
    {
        if (str_ends(json_string_value(json_object_get(file, "from")), name))
            return json_string_value(json_object_get(file, "to"));
    }
    return NULL;
}

static void what_onnx_runtime_opens_for_cuda_travels_beside_it(void **state)
{
    struct world *w = *state;

    free(world_file(w, SHARED));
    free(world_file(w, CUDA));
    assert_int_equal(world_make(w, "cuda:1"), 0);
    assert_string_equal(w->model.library, "./ydl-lib/onnx/" LIBRARY);
    assert_string_equal(world_to(w, SHARED), "ydl-lib/onnx/" SHARED);
    assert_string_equal(world_to(w, CUDA), "ydl-lib/onnx/" CUDA);
    assert_int_equal(world_make(w, "cpu"), 0); /* hundreds of megabytes that nobody opens */
    assert_int_equal(json_array_size(w->uploads.models[0]), 1);
}

static void a_library_without_cuda_is_said_before_the_start(void **state)
{
    struct world *w = *state;

    free(world_file(w, SHARED)); /* the package for CPUs has it, too */
    assert_int_equal(world_make(w, "cuda"), -ENOENT);
    assert_non_null(strstr(w->err.text, CUDA));
    assert_non_null(strstr(w->err.text, LIBRARY));
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(what_onnx_runtime_opens_for_cuda_travels_beside_it),
        WORLD_TEST(a_library_without_cuda_is_said_before_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
