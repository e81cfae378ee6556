/* docker_args_test.c - see docker_args.h */
#include "agent/tasks/docker_args.h"
#include "test.h"

#include <string.h>

/* All words with a blank between. */
static char *said(const struct docker_args *d)
{
    AUTO_STRS words = { 0 };
    char *all = strdup("");

    assert_int_equal(docker_args(d, &words), 0);
    for (size_t i = 0; i < words.n; i++) {
        char *longer = all ? str_printf("%s%s ", all, words.v[i]) : NULL;

        free(all);
        all = longer;
    }
    assert_non_null(all);
    return all;
}

static struct docker_args plain(const struct strs *mounts, const struct strs *init)
{
    return (struct docker_args){
        .image = "reg/img:1",
        .name = "ydl-j-worker-0",
        .job = "j",
        .task = "worker:0",
        .program = "/opt/ydl-node",
        .user = 1000,
        .group = 100,
        .mounts = mounts,
        .init = init,
    };
}

static void a_container_is_like_a_process_of_ours(void **state)
{
    struct strs none = { 0 };
    struct docker_args d = plain(&none, &none);
    AUTO_FREE char *all = said(&d);

    (void)state;
    assert_true(str_starts(all, "docker run --rm "));
    assert_non_null(strstr(all, " --network host "));
    assert_non_null(strstr(all, " --user 1000:100 "));
    assert_non_null(strstr(all, " --name ydl-j-worker-0 "));
    assert_non_null(strstr(all, " --label ydl.job=j --label ydl.task=worker:0 "));
    assert_non_null(
        strstr(all, " --mount type=bind,source=/opt/ydl-node,target=/.ydl-node,readonly "));
    assert_true(str_ends(all, " --entrypoint /.ydl-node reg/img:1 init "));
    assert_null(strstr(all, "--memory"));
    assert_null(strstr(all, "--cpu"));
    assert_null(strstr(all, "--gpus"));
    assert_null(strstr(all, "--group-add"));
}

static void limits_and_groups_are_passed_on(void **state)
{
    static const gid_t groups[] = { 100, 44, 27 };
    struct strs none = { 0 };
    struct docker_args d = plain(&none, &none);
    AUTO_FREE char *all = NULL;

    (void)state;
    d.memory = 64 * MIB;
    d.cpus = 3;
    d.gpus = "1,4";
    d.groups = groups;
    d.n_groups = COUNT_OF(groups);
    d.mark = "YDL_CONTAINER=c";
    all = said(&d);
    assert_non_null(strstr(all, " --memory 67108864 --memory-swap 67108864 "));
    assert_non_null(strstr(all, " --cpu-shares 3072 "));
    assert_non_null(strstr(all, " --gpus \"device=1,4\" "));
    assert_non_null(strstr(all, " --group-add 44 --group-add 27 "));
    assert_null(strstr(all, " --group-add 100 "));
    assert_non_null(strstr(all, " --env YDL_CONTAINER=c "));
}

static void mounts_are_bound_as_they_are_written(void **state)
{
    static const struct {
        const char *mount, *line;
    } rows[] = {
        { "/data", "source=/data,target=/data" },
        { "/a:/b", "source=/a,target=/b" },
        { "/a:/b:ro", "source=/a,target=/b,readonly" },
        { "/a:/b:rw", "source=/a,target=/b" },
        { "/with,comma", "\"source=/with,comma\",\"target=/with,comma\"" },
        { "/with\"quote", "\"source=/with\"\"quote\",\"target=/with\"\"quote\"" },
        { "/with:colon", "source=/with:colon,target=/with:colon" },
        { "/with blank", "source=/with blank,target=/with blank" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *v[] = { (char *)rows[i].mount, NULL };
        struct strs mounts = { .v = v, .n = 1 }, none = { 0 };
        struct docker_args d = plain(&mounts, &none);
        AUTO_FREE char *all = said(&d);
        AUTO_FREE char *line = str_printf(" --mount type=bind,%s ", rows[i].line);

        assert_non_null(line);
        assert_non_null(strstr(all, line));
    }
}

static void the_first_mount_at_a_place_counts(void **state)
{
    char *v[] = { (char *)"/mine:/data:ro", (char *)"/data", (char *)"/data:/other", NULL };
    struct strs mounts = { .v = v, .n = 3 }, none = { 0 };
    struct docker_args d = plain(&mounts, &none);
    AUTO_FREE char *all = said(&d);

    (void)state;
    assert_non_null(strstr(all, "source=/mine,target=/data,readonly"));
    assert_null(strstr(all, "source=/data,target=/data"));
    assert_non_null(strstr(all, "source=/data,target=/other"));
}

static void the_command_stands_last_and_unchanged(void **state)
{
    char *v[] = { (char *)"--out", (char *)"/o",         (char *)"--",
                  (char *)"sh",    (char *)"a 'b' $c\n", NULL };
    struct strs init = { .v = v, .n = 5 }, none = { 0 };
    struct docker_args d = plain(&none, &init);
    AUTO_FREE char *all = said(&d);

    (void)state;
    assert_true(str_ends(all, " reg/img:1 init --out /o -- sh a 'b' $c\n "));
}

static void gpus_are_counted_from_0_inside(void **state)
{
    static const struct {
        const char *given, *seen;
    } rows[] = { { NULL, "" }, { "", "" }, { "5", "0" }, { "2,3", "0,1" }, { "7,0,1", "0,1,2" } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *seen = NULL;

        assert_int_equal(docker_gpus(rows[i].given, &seen), 0);
        assert_string_equal(seen, rows[i].seen);
    }
}

static void dockers_own_complaint_is_the_reason(void **state)
{
    static const struct {
        const char *printed, *reason;
    } rows[] = {
        { "Unable to find image 'x:1' locally\n"
          "docker: Error response from daemon: pull access denied for x\n\n"
          "Run 'docker run --help' for more information\n",
          "pull access denied for x" },
        { "docker: Cannot connect to the Docker daemon at unix:///x.\n"
          "See 'docker run --help'.\n",
          "Cannot connect to the Docker daemon at unix:///x." },
        { "permission denied while trying to connect\n",
          "permission denied while trying to connect" },
        { "", "docker ended without a word" },
        { "\n\n", "docker ended without a word" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[200];

        docker_reason(rows[i].printed, text, sizeof(text));
        assert_string_equal(text, rows[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_like_a_process_of_ours),
        cmocka_unit_test(limits_and_groups_are_passed_on),
        cmocka_unit_test(mounts_are_bound_as_they_are_written),
        cmocka_unit_test(the_first_mount_at_a_place_counts),
        cmocka_unit_test(the_command_stands_last_and_unchanged),
        cmocka_unit_test(gpus_are_counted_from_0_inside),
        cmocka_unit_test(dockers_own_complaint_is_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
