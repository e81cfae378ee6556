/* capacity_test.c - see capacity.h */
#include "launch/capacity/capacity.h"
#include "launch/capacity/capacity_testing.h"
#include "test.h"

#include <string.h>

struct row {
    struct room_cluster cluster;
    const char *job;   /* YAML */
    const char *lines; /* of the faults; "" when it can be */
    const char *now;   /* what is missing now; NULL: nothing */
    bool unsure;
};

static char *joined(const struct spec_faults *f)
{
    AUTO_BUF b = { .max = 64 * KIB };

    for (size_t i = 0; i < f->lines.n; i++)
        if (buf_printf(&b, "%s%s", i ? "\n" : "", f->lines.v[i]) < 0)
            return NULL;
    return buf_text(&b) ? strdup(buf_text(&b)) : NULL;
}

/* -ENOMEM, or 0 with what was said. */
static int check(const struct row *row, char **ret, struct capacity *room)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    AUTO_SPEC_FAULTS faults = { 0 };
    AUTO_SPEC s = { 0 };
    int r;

    spec_init(&s);
    r = room_cluster(&row->cluster, &f);
    if (r == 0)
        r = spec_parse("j", row->job, strlen(row->job), &s, &faults);
    if (r == 0)
        r = capacity_check(&s, &f, NULL, &faults, room);
    if (r == -ENOMEM)
        return r;
    *ret = joined(&faults);
    assert_int_equal(r, faults.n ? -EINVAL : 0);
    return *ret ? 0 : -ENOMEM;
}

static void expect(const struct row *row)
{
    AUTO_FREE char *lines = NULL;
    struct capacity room;

    assert_int_equal(check(row, &lines, &room), 0);
    assert_string_equal(lines, row->lines);
    assert_int_equal(room.unsure, row->unsure);
    if (*row->lines)
        return;
    assert_string_equal(room.text, row->now ? row->now : "");
    assert_int_equal(room.fits_now, row->now == NULL);
}

#define EXPECT(rows)                                                                               \
    for (size_t i_ = 0; i_ < COUNT_OF(rows); i_++)                                                 \
    expect(&(rows)[i_])

/* Three nodes of 8 GB and 16 cores. */
#define THREE .nodes = { { .mb = 8192, .cores = 16, .n = 3 } }
#define GPU_TYPE .types = { "yarn.io/gpu" }

static void one_container_more_than_the_cluster_holds_is_told_in_these_words(void **state)
{
    static const struct row rows[] = {
        /* The nodes are full to the last byte; the master finds no place. */
        { { THREE },
          "roles: {worker: {count: 6, memory: 4g}}",
          "j:1: roles: needs 7 containers (6 + the master); the cluster can hold 6" },
        { { THREE }, "roles: {worker: {count: 5, memory: 4g}}", "" },
        /* There is a little left everywhere, but less than the smallest container. */
        { { THREE, .step = 128 },
          "roles: {worker: {count: 9, memory: 2688m}}",
          "" }, /* 3 × 2688 = 8064, and 128 are left */
        { { THREE, .step = 256 },
          "roles: {worker: {count: 9, memory: 2688m}}",
          "j:1: roles.worker.count: needs 10 containers (9 + the master), 9 of them with 2.8 GB, 1 "
          "core; the cluster can hold 6 such" },
        { { .nodes = { { .mb = 8000, .cores = 16, .n = 3 } }, .step = 100 },
          "roles: {worker: {count: 9, memory: 2600m}}",
          "" },
        { { .nodes = { { .mb = 7850, .cores = 16, .n = 3 } }, .step = 100 },
          "roles: {worker: {count: 9, memory: 2600m}}",
          "j:1: roles: needs 10 containers (9 + the master); the cluster can hold 9" },
        /* By cores, where they count. */
        { { THREE },
          "roles: {worker: {count: 48, memory: 64m}}",
          "j:1: roles: needs 49 containers (48 + the master); the cluster can hold 48" },
        { { THREE, .ignores_cores = true }, "roles: {worker: {count: 48, memory: 64m}}", "" },
        /* One on a node, and the master must be beside one of them. */
        { { .nodes = { { .mb = 1024, .cores = 4, .n = 3 } } },
          "roles: {worker: {count: 3, memory: 1g, spread: node}}",
          "j:1: roles: needs 4 containers (3 + the master); the cluster can hold 3" },
        { { THREE }, "roles: {worker: {count: 3, spread: node}}", "" },
        /* Of the queue, and of a label. */
        { { THREE, .queue = "small", .queue_mb = 2048 },
          "roles: {worker: {count: 2, memory: 1g}}",
          "j:1: roles: needs 3 containers (2 + the master); the queue 'small' can hold 2" },
        { { .nodes = { { .mb = 8192, .cores = 16, .n = 1 },
                       { .mb = 8192, .cores = 16, .n = 1, .label = "gpu" } },
            .labels = { "gpu" },
            .may_use = { "gpu" } },
          "label: gpu\nroles: {worker: {count: 2, memory: 4g}}",
          "j:2: roles: needs 3 containers (2 + the master); the nodes with the label 'gpu' can "
          "hold "
          "2" },
    };

    (void)state;
    EXPECT(rows);
}

static void more_than_the_cluster_holds_is_told(void **state)
{
    static const struct row rows[] = {
        { { THREE },
          "roles: {worker: {count: 8, memory: 4g}}",
          "j:1: roles.worker.count: needs 9 containers (8 + the master), 8 of them with 4 GB, 1 "
          "core; the cluster can hold 6 such" },
        { { THREE },
          "roles: {worker: {count: 3, memory: 5g}, ps: {count: 1, memory: 6g}}",
          "j:1: roles.worker.count: needs 5 containers (4 + the master), 4 of them with 5 GB, 1 "
          "core or more; the cluster can hold 3 such" },
        { { THREE },
          "roles: {worker: {count: 4, spread: node}}",
          "j:1: roles.worker.count: needs 5 containers (4 + the master), 4 of them with 1 GB, 1 "
          "core; the cluster can hold 3 such, one on a node" },
        { { THREE },
          "roles: {a: {count: 3, memory: 4g, cpus: 1}, b: {count: 4, memory: 3500m, cpus: 2}}",
          "j:1: roles: needs 8 containers (7 + the master), tasks with 26 GB in all; the "
          "cluster has 24 GB" },
        { { THREE, .queue = "small", .queue_mb = 2457 },
          "roles: {worker: 4}",
          "j:1: roles: needs 5 containers (4 + the master), tasks with 4 GB in all; the queue "
          "'small' can hold 2.4 GB" },
        { { .nodes = { { .mb = 8192, .cores = 16, .gpus = 2, .n = 2 } }, GPU_TYPE },
          "roles: {worker: {count: 5, gpus: 1}}",
          "j:1: roles.worker.count: needs 6 containers (5 + the master), 5 of them with 1 GB, 1 "
          "core, 1 GPU; the cluster can hold 4 such" },
    };

    (void)state;
    EXPECT(rows);
}

static void containers_are_put_where_they_leave_room_for_others(void **state)
{
    static const struct row rows[] = {
        /* Servers without GPUs keep away from the nodes that have them. */
        { { .nodes = { { .mb = 8192, .cores = 16, .gpus = 2, .n = 1 },
                       { .mb = 8192, .cores = 16, .n = 1 } },
            GPU_TYPE },
          "roles: {worker: {count: 2, memory: 4000m, gpus: 1}, ps: {count: 2, memory: 4000m}}",
          "" },
        { { .nodes = { { .mb = 4096, .cores = 8, .n = 2 }, { .mb = 16384, .cores = 8, .n = 1 } } },
          "roles: {a: {count: 1, memory: 16000m}, b: {count: 2, memory: 4000m}}",
          "" },
        /* Each label has nodes of its own, */
        { { .nodes = { { .mb = 4096, .cores = 16, .n = 2 },
                       { .mb = 4096, .cores = 16, .n = 2, .label = "gpu" } },
            .labels = { "gpu" },
            .may_use = { "*" } },
          "roles: {worker: {count: 2, memory: 4g, label: gpu}, ps: {count: 1, memory: 4g}}",
          "" },
        { { .nodes = { { .mb = 4096, .cores = 16, .n = 1 },
                       { .mb = 4096, .cores = 16, .n = 3, .label = "gpu" } },
            .labels = { "gpu" },
            .may_use = { "gpu" } },
          "roles: {ps: {count: 2, memory: 4g}}",
          "j:1: roles.ps.count: needs 3 containers (2 + the master), 2 of them with 4 GB, 1 core; "
          "the cluster can hold 1 such" },
        /* unless it is not exclusive. */
        { { .nodes = { { .mb = 4096, .cores = 16, .n = 1 },
                       { .mb = 4096, .cores = 16, .n = 3, .label = "gpu" } },
            .labels = { "!gpu" },
            .may_use = { "gpu" },
            .queue_mb = 4096 },
          "roles: {ps: {count: 2, memory: 4g}}",
          "" },
    };

    (void)state;
    EXPECT(rows);
}

/* The two large ones fill a node together; with one on each, all would fit. */
static void where_first_fit_fails_without_a_proof_nothing_is_said(void **state)
{
    static const struct row rows[] = {
        { { .nodes = { { .mb = 10240, .cores = 64, .n = 2 } } },
          "roles: {a: {count: 2, memory: 4g}, b: {count: 2, memory: 3g},"
          " c: {count: 2, memory: 3008m}}",
          "",
          "needs 7 containers (6 + the master); there is room for 6 now, waiting for 1 more of "
          "'c' (2.9 GB, 1 core)",
          true },
    };

    (void)state;
    EXPECT(rows);
}

static void what_is_not_free_now_is_said_but_is_no_fault(void **state)
{
    static const struct row rows[] = {
        { { .nodes = { { .mb = 8192, .cores = 16, .n = 1, .used_mb = 8192 },
                       { .mb = 8192, .cores = 16, .n = 1, .used_mb = 4096 } } },
          "roles: {worker: {count: 3, memory: 2g}, ps: 1}",
          "",
          "needs 5 containers (4 + the master); there is room for 3 now, waiting for 2 more of "
          "'worker' (2 GB, 1 core)" },
        { { THREE, .queue = "small", .queue_mb = 4096, .queue_used_mb = 3072 },
          "roles: {worker: 2}",
          "",
          "needs 3 containers (2 + the master); there is room for 1 now, waiting for 2 more of "
          "'worker' (1 GB, 1 core)" },
        { { .nodes = { { .mb = 2048, .cores = 16, .n = 1, .used_mb = 2048 } } },
          "roles: {worker: 1}",
          "",
          "needs 2 containers (1 + the master); there is room for 0 now, waiting for 1 more of "
          "the master (64 MB, 1 core), 1 more of 'worker' (1 GB, 1 core)" },
    };

    (void)state;
    EXPECT(rows);
}

static void an_ask_that_no_node_can_serve_is_named(void **state)
{
    static const struct row rows[] = {
        { { THREE },
          "roles:\n  worker: {memory: 9g}\n",
          "j:2: roles.worker.memory: 9 GB: a container can have at most 8 GB on this cluster" },
        { { THREE, .most_mb = 16384 },
          "roles: {worker: {memory: 9g}}",
          "j:1: roles.worker.memory: 9 GB: the largest node has 8 GB" },
        { { THREE, .most_mb = 4096 },
          "roles: {worker: {memory: 5g, cpus: 17}}",
          "j:1: roles.worker.memory: 5 GB: a container can have at most 4 GB on this cluster\n"
          "j:1: roles.worker.cpus: 17 cores: a container can have at most 16 cores on this "
          "cluster" },
        { { THREE },
          "master: {memory: 10g}\nroles: {worker: 1}",
          "j:1: master.memory: 10 GB: a container can have at most 8 GB on this cluster" },
        { { .nodes = { { .mb = 8192, .cores = 2, .n = 1 }, { .mb = 1024, .cores = 16, .n = 1 } } },
          "roles: {worker: {memory: 4g, cpus: 4}}",
          "j:1: roles.worker: no node has 4 GB, 4 cores together" },
        { { .nodes = { { .mb = 8192, .cores = 16, .n = 1 },
                       { .mb = 2048, .cores = 16, .n = 1, .label = "gpu" } },
            .labels = { "gpu", "fpga" },
            .may_use = { "*" } },
          "roles: {a: {memory: 4g, label: gpu}, b: {label: fpga}}",
          "j:1: roles.a.memory: 4 GB: the largest node with the label 'gpu' has 2 GB\n"
          "j:1: roles.b.label: no running node with the label 'fpga'" },
        { { .nodes = { { .mb = 8192, .cores = 16, .n = 1, .label = "gpu" } },
            .labels = { "gpu" },
            .may_use = { "*" } },
          "roles: {a: {label: gpu}}",
          "master.label: no running node is without a label; name a label with --label" },
        { { .nodes = { { .mb = 8192, .cores = 16, .n = 2, .away = true } } },
          "roles: {a: 1}",
          "the cluster has no running node: all are lost, unhealthy or decommissioned" },
        { { .queue = NULL }, "roles: {a: 1}", "the cluster has no running node" },
    };

    (void)state;
    EXPECT(rows);
}

static void resource_types_must_be_the_clusters(void **state)
{
    static const struct row rows[] = {
        { { THREE },
          "roles: {worker: {gpus: 1}}",
          "j:1: roles.worker.gpus: the cluster does not schedule GPUs: it has no resource type "
          "'yarn.io/gpu'" },
        { { THREE }, "roles: {worker: {gpus: 0}}", "" },
        { { .nodes = { { .mb = 8192, .cores = 16, .gpus = 2, .n = 1 } },
            .types = { "nec.com/ve" } },
          "roles: {worker: {resources: {nec.com/ve: 2}}}",
          "" },
        { { .nodes = { { .mb = 8192, .cores = 16, .gpus = 2, .n = 1 } },
            .types = { "nec.com/ve" } },
          "roles: {worker: {resources: {nec.com/vee: 2, zzz: 1}}}",
          "j:1: roles.worker.resources.nec.com/vee: the cluster has no such resource type (did you "
          "mean 'nec.com/ve'?)\n"
          "j:1: roles.worker.resources.zzz: the cluster has no such resource type" },
        { { .nodes = { { .mb = 8192, .cores = 16, .gpus = 2, .n = 1 } }, GPU_TYPE },
          "roles: {worker: {gpus: 3}}",
          "j:1: roles.worker.gpus: 3 GPUs: a container can have at most 2 GPUs on this cluster" },
    };

    (void)state;
    EXPECT(rows);
}

static void queue_label_and_image_are_looked_at_together(void **state)
{
    static const struct row rows[] = {
        { { THREE, .queue = "prd", .no_queue = true },
          "queue: prd\nroles: {w: 1}",
          "j:1: queue: there is no queue 'prd' (did you mean 'prod'?)" },
        { { THREE, .queue = "root.users.alice", .no_queue = true, .may_come = true },
          "queue: root.users.alice\nroles: {w: 1}",
          "" },
        { { THREE, .queue = "root", .parent = true },
          "queue: root\nroles: {w: 1}",
          "j:1: queue: 'root' is a parent queue and takes no jobs (its queues: default, "
          "prod)" },
        { { THREE, .queue = "old", .stopped = true },
          "queue: old\nroles: {w: 1}",
          "j:1: queue: 'old' is stopped and takes no jobs (queues: default, prod)" },
        { { THREE, .queue = "closed", .forbidden = true },
          "queue: closed\nroles: {w: 1}",
          "j:1: queue: alice may not submit to 'closed'" },
        { { THREE },
          "label: gpu\nroles: {w: 1}",
          "j:1: label: 'gpu' cannot be used: the cluster has no node labels" },
        { { THREE, .labels = { "gpu" }, .may_use = { "gpu" } },
          "label: gpuu\nroles: {w: 1}",
          "j:1: label: there is no node label 'gpuu' (did you mean 'gpu'?)" },
        { { THREE, .labels = { "gpu" }, .queue = "prod" },
          "roles: {w: {label: gpu}}",
          "j:1: roles.w.label: the queue 'prod' may not use the label 'gpu'" },
        { { THREE, .labels = { "gpu", "ssd" }, .may_use = { "ssd" } },
          "master: {label: gpu}\nroles: {w: 1}",
          "j:1: master.label: the queue 'default' may not use the label 'gpu'; it may use ssd" },
        { { THREE, .queue = "nosuch", .no_queue = true },
          "queue: nosuch\nlabel: x\nimage: A/b\nroles: {w: {image: 'a:'}}",
          "j:1: queue: there is no queue 'nosuch'\n"
          "j:2: label: 'x' cannot be used: the cluster has no node labels\n"
          "j:4: roles.w.image: 'a:' is not an image name: a tag has at most 128 letters, digits, "
          "'_', '.' and '-'" },
    };

    (void)state;
    EXPECT(rows);
}

static void roles_at_the_client_need_no_room(void **state)
{
    static const struct row row = { { THREE },
                                    "roles: {w: 1, me: {count: 4, memory: 100g, place: client},"
                                    " none: {count: 0, memory: 100g}}",
                                    "" };
    AUTO_FREE char *lines = NULL;
    struct capacity room;

    (void)state;
    assert_int_equal(check(&row, &lines, &room), 0);
    assert_string_equal(lines, "");
    assert_int_equal(room.needed, 2);
}

static void images_are_called_as_docker_calls_them(void **state)
{
    static const struct {
        const char *name;
        bool good;
    } rows[] = {
        { "ubuntu", true },
        { "ubuntu:22.04", true },
        { "library/ubuntu", true },
        { "a/b/c/d:latest", true },
        { "localhost/x", true },
        { "localhost:5000/x", true },
        { "registry.example.com/team/image:1.2-rc_3", true },
        { "registry.example.com:5000/image", true },
        { "Registry/image", true }, /* capital letters make it a host */
        { "[::1]:5000/image", true },
        { "a__b/c--d/e.f", true },
        { "x@sha256:0123456789012345678901234567890123456789012345678901234567890123", true },
        { "x:1@sha256:01234567890123456789012345678901", true },
        { "", false },
        { "Ubuntu", false },
        { "ubuntu:", false },
        { "ubuntu:-x", false },
        { "ubuntu:a/b", false },
        { "/ubuntu", false },
        { "ubuntu/", false },
        { "a//b", false },
        { "a..b", false },
        { "a___b", false },
        { "-a", false },
        { "a-", false },
        { "a b", false },
        { "a$(id)", false },
        { "host:port/x", false },
        { "host:/x", false },
        { "-host.x/y", false },
        { "[]:1/x", false },
        { "x@sha256:zz", false },
        { "x@", false },
        { "x@sha256", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if ((image_name_fault(rows[i].name) == NULL) != rows[i].good)
            fail_msg("'%s': %s", rows[i].name,
                     rows[i].good ? image_name_fault(rows[i].name) : "taken");
}

static void a_role_that_says_nothing_gets_a_gibibyte_and_a_core(void **state)
{
    struct spec_role role = { .name = (char[]){ "w" } };
    struct spec s = { .label = (char[]){ "gpu" } };
    struct capacity_ask ask = capacity_ask(&s, &role);
    struct capacity_master m = capacity_master(&s);

    (void)state;
    assert_int_equal(ask.memory_mb, 1024);
    assert_int_equal(ask.cores, 1);
    assert_string_equal(ask.label, "gpu");
    assert_int_equal(m.memory_mb, 64);
    assert_int_equal(m.cores, 1);
    assert_string_equal(m.label, "gpu");
    role.memory = 1;
    assert_int_equal(capacity_ask(&s, &role).memory_mb, 1); /* rounded up */
}

static void the_masters_memory_follows_the_size_of_the_job(void **state)
{
    static const struct {
        unsigned count;
        int64_t mb;
    } rows[] = { { 1, 64 }, { 500, 64 }, { 501, 65 }, { 1000, 96 }, { 10000, 658 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct spec_role role = { .count = rows[i].count };
        struct spec s = { .roles = &role, .n_roles = 1 };

        assert_int_equal(capacity_master(&s).memory_mb, rows[i].mb);
        s.master.memory = 32 * MIB; /* what was said counts */
        assert_int_equal(capacity_master(&s).memory_mb, 32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_masters_memory_follows_the_size_of_the_job),
        cmocka_unit_test(one_container_more_than_the_cluster_holds_is_told_in_these_words),
        cmocka_unit_test(more_than_the_cluster_holds_is_told),
        cmocka_unit_test(containers_are_put_where_they_leave_room_for_others),
        cmocka_unit_test(where_first_fit_fails_without_a_proof_nothing_is_said),
        cmocka_unit_test(what_is_not_free_now_is_said_but_is_no_fault),
        cmocka_unit_test(an_ask_that_no_node_can_serve_is_named),
        cmocka_unit_test(resource_types_must_be_the_clusters),
        cmocka_unit_test(queue_label_and_image_are_looked_at_together),
        cmocka_unit_test(roles_at_the_client_need_no_room),
        cmocka_unit_test(images_are_called_as_docker_calls_them),
        cmocka_unit_test(a_role_that_says_nothing_gets_a_gibibyte_and_a_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
