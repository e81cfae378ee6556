/* cluster_facts_test.c - what the RM's answers about a queue mean; see cluster_facts.h. The calls
 * need a cluster.
 */
#include "launch/capacity/cluster_facts_private.h"
#include "test.h"

#include <string.h>

/* Two nodes of 8 GB, one of them labelled. */
static void add_nodes(struct deploy_facts *f)
{
    static const char *const labels[] = { "", "gpu" };

    f->nodes = calloc(2, sizeof(*f->nodes));
    assert_non_null(f->nodes);
    assert_int_equal(strs_add(&f->types, "memory-mb"), 0);
    assert_int_equal(strs_add(&f->types, "vcores"), 0);
    for (size_t i = 0; i < 2; i++) {
        struct deploy_node *n = &f->nodes[f->n_nodes++];

        n->host = strdup("h");
        n->rack = strdup("/r");
        n->label = strdup(labels[i]);
        assert_true(n->host && n->rack && n->label);
        n->running = true;
        n->total = (struct deploy_size){ { 8192, 16 } };
    }
}

static void what_the_rm_works_with_wins_over_percentages(void **state)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    Yarn__Resource most = YARN__RESOURCE__INIT;
    Yarn__QueueConfigurations by_amount = YARN__QUEUE_CONFIGURATIONS__INIT;
    Yarn__QueueConfigurations by_share = YARN__QUEUE_CONFIGURATIONS__INIT;
    Yarn__QueueConfigurationsMap rows[3] = { YARN__QUEUE_CONFIGURATIONS_MAP__INIT,
                                             YARN__QUEUE_CONFIGURATIONS_MAP__INIT,
                                             YARN__QUEUE_CONFIGURATIONS_MAP__INIT };
    Yarn__QueueConfigurationsMap *list[] = { &rows[0], &rows[1], &rows[2] };
    Yarn__QueueInfo info = YARN__QUEUE_INFO__INIT;
    struct yarn_queue q = { .info = &info };
    struct err err = ERR_INIT;

    (void)state;
    add_nodes(&f);
    most.has_memory = most.has_virtual_cores = true;
    most.memory = 2457;
    most.virtual_cores = 4;
    by_amount.effective_max_capacity = &most;
    by_amount.has_absolute_max_capacity = by_share.has_absolute_max_capacity = true;
    by_amount.absolute_max_capacity = 1;
    by_share.absolute_max_capacity = 0.25F;
    rows[0].partition = "";
    rows[0].configurations = &by_amount;
    rows[1].partition = "gpu";
    rows[1].configurations = &by_share;
    rows[2].partition = "ssd";
    info.configurations = list;
    info.n_configurations = 3;
    assert_int_equal(facts_queue_read(&q, &f, &err), 0);
    assert_true(f.queue.found && f.queue.leaf && f.queue.running);
    assert_int_equal(deploy_share(&f.queue, "")->most.v[DEPLOY_MEMORY], 2457);
    assert_int_equal(deploy_share(&f.queue, "")->most.v[DEPLOY_CORES], 4);
    assert_int_equal(deploy_share(&f.queue, "gpu")->most.v[DEPLOY_MEMORY], 2049); /* rounded up */
    assert_false(deploy_share(&f.queue, "ssd")->limited);
    assert_null(deploy_share(&f.queue, "other"));
}

static void a_fair_queue_has_its_most_in_other_fields(void **state)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    Yarn__QueueInfo info = YARN__QUEUE_INFO__INIT;
    struct yarn_queue q = { .info = &info };
    struct err err = ERR_INIT;

    (void)state;
    add_nodes(&f);
    info.max_resource_memory = 4096; /* and no cores: 3.4 sends them in another field */
    assert_int_equal(facts_queue_read(&q, &f, &err), 0);
    assert_int_equal(deploy_share(&f.queue, "")->most.v[DEPLOY_MEMORY], 4096);
    assert_int_equal(deploy_share(&f.queue, "")->most.v[DEPLOY_CORES], DEPLOY_MOST);
}

static void amounts_beyond_all_measure_are_cut(void **state)
{
    AUTO_DEPLOY_FACTS f = { 0 };
    Yarn__Resource r = YARN__RESOURCE__INIT;
    struct deploy_size s;

    (void)state;
    add_nodes(&f);
    r.has_memory = r.has_virtual_cores = true;
    r.memory = INT64_MAX;
    r.virtual_cores = -3;
    s = facts_size(&f, &r);
    assert_int_equal(s.v[DEPLOY_MEMORY], DEPLOY_MOST);
    assert_int_equal(s.v[DEPLOY_CORES], 0);
    s = facts_size(&f, NULL);
    assert_int_equal(s.v[DEPLOY_MEMORY], 0);
}

static void rights_are_found_by_path_or_by_last_part(void **state)
{
    static Yarn__QueueAcl submit[] = { YARN__QUEUE_ACL__QUEUE_SUBMIT };
    Yarn__QueueUserAclInfo q[3] = { YARN__QUEUE_USER_ACL_INFO__INIT,
                                    YARN__QUEUE_USER_ACL_INFO__INIT,
                                    YARN__QUEUE_USER_ACL_INFO__INIT };
    Yarn__QueueUserAclInfo *list[] = { &q[0], &q[1], &q[2] };
    Yarn__GetQueueUserAclsInfoResponse acls = YARN__GET_QUEUE_USER_ACLS_INFO_RESPONSE__INIT;

    (void)state;
    q[0].queue_name = "root.a.x";
    q[1].queue_name = "root.b.x";
    q[1].user_acls = submit;
    q[1].n_user_acls = 1;
    q[2].queue_name = "closed";
    acls.queues = list;
    acls.n_queues = 3;
    assert_int_equal(facts_may_submit(&acls, "root.a.x"), 0);
    assert_int_equal(facts_may_submit(&acls, "root.b.x"), 1);
    assert_int_equal(facts_may_submit(&acls, "x"), 1); /* one of the two, perhaps */
    assert_int_equal(facts_may_submit(&acls, "root.closed"), 0);
    assert_int_equal(facts_may_submit(&acls, "new"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_rm_works_with_wins_over_percentages),
        cmocka_unit_test(a_fair_queue_has_its_most_in_other_fields),
        cmocka_unit_test(amounts_beyond_all_measure_are_cut),
        cmocka_unit_test(rights_are_found_by_path_or_by_last_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
