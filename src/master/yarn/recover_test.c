/* recover_test.c - one master after the other reads the log of those before it; see recover.c. */
#include "master/yarn/recover_testing.h"
#include "platform/yarn/yarn_platform_private.h"

/* ---- each record once ---- */

struct sequence {
    uint64_t next;
    bool bad;
};

static int in_order(void *arg, const char *line, size_t n)
{
    struct sequence *x = arg;
    uint64_t seq = 0;

    x->bad |= !event_number(line, n, &seq) || seq != x->next;
    x->next++;
    return 0;
}

/* Every number once and in order, in what lies in HDFS. */
static void assert_each_once(struct desk *d)
{
    const struct parts events = { d->container.logs, "events", "jsonl" };
    struct sequence x = { 0 };
    int attempt = d->container.attempt;

    d->container.attempt = 1000;
    assert_int_equal(parts_lines(&d->m, &events, in_order, &x, NULL), 0);
    d->container.attempt = attempt;
    assert_false(x.bad);
    assert_true(x.next > 10);
}

/* The first master saw one restart of two. Each one after it remembers that one, and not as many
 * as there are copies of it. */
static void four_masters(struct desk *d)
{
    next_master(d);
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    ended(&d->b, "w:1", 3);
    pass(&d->b, 60000);
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    keep_events(d);
    for (int i = 2; i <= 4; i++) {
        kill_master(d);
        next_master(d);
        assert_each_once(d);
        agents_return(d);
        assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
        assert_int_equal(state_of(&d->b, "w:1"), TASK_RUNNING);
        assert_int_equal(task(&d->b, "w:1")->attempt, 1);
    }
    ended(&d->b, "w:1", 3); /* the second restart, and the last */
    pass(&d->b, 60000);
    keep_events(d);
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    kill_master(d);
    next_master(d);
    agents_return(d);
    ended(&d->b, "w:1", 3);
    pass(&d->b, 60000);
    assert_int_equal(engine_state(d->b.e), JOB_FAILED);
    keep_events(d);
    kill_master(d);
    assert_each_once(d);
}

static void each_event_is_read_once_by_every_master(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, four_masters);
    with_desk(SPEC_RESTART_GANG, 2, four_masters);
}

/* The first master was cut off and replaced. When it was back it wrote on, of a restart that its
 * successor knows nothing of; the third one reads all of it. */
static void replaced_master(struct desk *d)
{
    const struct parts events = { d->container.logs, "events", "jsonl" };
    AUTO_FREE char *late = path_join(d->container.logs, "events-1.1.jsonl");
    AUTO_BUF all = { .max = MIB };
    struct sequence first = { 0 };

    next_master(d);
    kill_master(d);
    d->container.attempt = 2;
    assert_int_equal(parts_lines(&d->m, &events, in_order, &first, NULL), 0);
    d->container.attempt = 1;
    next_master(d);
    agents_return(d);
    assert_int_equal(buf_printf(&all,
                                "{\"seq\":%llu,\"t\":%lld,\"event\":\"restart\",\"what\":\"task\","
                                "\"task\":\"w:1\",\"attempt\":9,\"used\":2,\"max\":2}\n",
                                (unsigned long long)first.next, (long long)d->b.now),
                     0);
    assert_non_null(late);
    assert_int_equal(path_write_new(late, all.data, all.len, 0600, NULL), 0);
    kill_master(d);
    next_master(d);
    assert_each_once(d);
    agents_return(d);
    ended(&d->b, "w:1", 3); /* it may be restarted twice, and has not been */
    pass(&d->b, 60000);
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    kill_master(d);
}

static void what_a_replaced_master_writes_does_not_count(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, replaced_master);
}

/* A log of masters that began their segments with all that was before them. */
static void older_masters(struct desk *d)
{
    AUTO_BUF all = { .max = MIB };
    AUTO_FREE char *first = path_join(d->container.logs, "events-1.jsonl");

    next_master(d);
    ended(&d->b, "w:1", 3);
    pass(&d->b, 60000);
    keep_events(d);
    kill_master(d);
    assert_non_null(first);
    assert_int_equal(path_read(first, &all, NULL), 0);
    for (int i = 2; i <= 3; i++) {
        AUTO_FREE char *path = str_printf("%s/events-%d.jsonl", d->container.logs, i);
        AUTO_FREE char *line = str_printf(
            "{\"seq\":%d,\"t\":%lld,\"event\":\"master\",\"attempt\":%d,\"rest\":true}\n", 999 + i,
            (long long)d->b.now, i);

        assert_non_null(path);
        assert_non_null(line);
        assert_int_equal(buf_add_str(&all, line), 0);
        assert_int_equal(path_write_new(path, all.data, all.len, 0600, NULL), 0);
    }
    d->container.attempt = 3;
    next_master(d);
    agents_return(d);
    ended(&d->b, "w:1", 3);
    pass(&d->b, 60000);
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    kill_master(d);
}

static void a_log_that_repeats_itself_counts_once(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, older_masters);
}

/* The first master dies right after its first container, and may have had others that it did not
 * write down. */
static void count_agents_on(struct desk *d)
{
    static const struct platform_ops ops = { .name = "test" };
    struct yarn_platform p = { .base = { .ops = &ops } };

    open_master(d);
    assert_int_equal(engine_start(d->b.e, d->b.now, NULL), 0);
    assert_int_equal(engine_on_granted(d->b.e, 0, 70000, d->b.now, NULL), 0);
    assert_int_equal(mirror_start(&d->m, NULL), 0);
    keep_events(d);
    kill_master(d);
    open_master(d);
    d->m.platform = &p.base;
    assert_int_equal(recover_job(&d->m, NULL), 1);
    assert_int_equal(p.next_agent, 70000 + 4096);
    kill_master(d);
}

/* The first master could write nothing down; agents of its may still come. */
static void count_agents_behind_unknown_ones(struct desk *d)
{
    static const struct platform_ops ops = { .name = "test" };
    struct yarn_platform p = { .base = { .ops = &ops } };

    d->container.attempt = 1;
    open_master(d);
    d->m.platform = &p.base;
    assert_int_equal(recover_job(&d->m, NULL), 0);
    assert_int_equal(p.next_agent, 4096);
    kill_master(d);
}

static void numbers_of_agents_are_not_given_twice(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, count_agents_on);
    with_desk(SPEC_RESTART_TASK, 2, count_agents_behind_unknown_ones);
}

/* Behind a summary, if there is one. */
static void write_one_more(struct desk *d)
{
    assert_int_equal(engine_note(d->b.e, "info", "one more", d->b.now, NULL), 0);
    keep_events(d);
    while (!mirror_has(&d->m, d->m.journal.size))
        assert_int_equal(fiber_yield(d->loop), 0);
}

/* ---- output that nobody has saved ---- */

static void count_agent(void *arg, uint32_t agent, const char *node)
{
    (void)agent;
    (void)node;
    ++*(unsigned *)arg;
}

/* One that owes the output of several tasks has one record, which names them all. */
static void assert_agents_once(struct desk *d, struct agent_conn *a, unsigned others)
{
    unsigned n = 0;

    a->output_saved = false; /* another one, in the same container */
    outputs_started(&d->m, a, 0, 5);
    outputs_started(&d->m, a, 1, 5);
    outputs_each(&d->m, count_agent, &n);
    assert_int_equal(n, others + 1);
    outputs_saved(&d->m, a->number);
}

/* An agent that names whose output is there: what it does not name is missing. */
static void saved_in_part(struct desk *d)
{
    char labels[][16] = { "w-2", "nobody-7", "w-0" };
    char *all[] = { labels[0], labels[1], labels[2] };
    struct agent_conn *a = agent_with(d, 17, "w:0", 4);

    outputs_started(&d->m, a, 1, 4);
    outputs_started(&d->m, a, 2, 4);
    outputs_saved_labels(&d->m, 17, all, COUNT_OF(all));
    outputs_unsaved(&d->m, 17, "its file was removed");
    agents_tell(a, "saved");
}

static void lost_with_output(struct desk *d)
{
    static const struct platform_ops nobody = { .name = "test" };
    static const char *const said[] = {
        "output of w:0 (attempts 0 to 2 on 'n11') is not known to be saved: it does not answer\""
        ",\"missing\":1",
        "output of w:1 (attempt 1 on 'n12') is not known to be saved: its agent did not say so\""
        ",\"missing\":1",
        "output of w:1 (attempt 0 on 'n14'), w:2 (attempt 0 on 'n15') is not known to be saved: "
        "no room\",\"missing\":2",
        "output of w:1 (attempt 4 on 'n17') is not known to be saved: its file was removed\""
        ",\"missing\":1",
        NULL
    };
    struct platform platform = { .ops = &nobody };
    struct agent_conn *a;

    next_master(d);
    d->m.platform = &platform;
    a = agent_with(d, 11, "w:0", 0); /* lost, after two restarts there */
    outputs_started(&d->m, a, 0, 2);
    outputs_unsaved(&d->m, 11, "it does not answer");
    agents_tell(a, "lost");
    agents_tell(agent_with(d, 12, "w:1", 1), "leaving"); /* and never heard of again */
    a = agent_with(d, 13, "w:2", 1);                     /* left, and has saved it */
    agents_tell(a, "leaving");
    outputs_saved(&d->m, 13);
    agents_tell(a, "saved");
    for (uint32_t i = 14; i <= 15; i++) { /* could not, and said so */
        a = agent_with(d, i, i == 14 ? "w:1" : "w:2", 0);
        outputs_unsaved(&d->m, i, "no room");
        outputs_left(&d->m, i);
        agents_tell(a, "saved");
    }
    a = agent_with(d, 16, "w:0", 3); /* its node was given up, and it has saved it all the same */
    outputs_unsaved(&d->m, 16, "its node is lost");
    agents_tell(a, "lost");
    outputs_saved(&d->m, 16);
    agents_tell(a, "saved");
    saved_in_part(d);
    assert_agents_once(d, a, 5);
    keep_events(d);
    for (int i = 0; i < 3; i++) {
        kill_master(d);
        next_master(d);
        assert_missing(d, said);
        d->summaries = true; /* the next one begins with one, which says it too */
        write_one_more(d);
        write_one_more(d);
    }
    kill_master(d);
}

static void every_master_knows_whose_output_is_missing(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, lost_with_output);
}

/* ---- from a summary on ---- */

static char *segment_path(const struct desk *d, const char *name)
{
    char *path = path_join(d->container.logs, name);

    assert_non_null(path);
    return path;
}

/* The second of two restarts is the last one, whoever counts them, and a node stays avoided. */
static void goes_on_from_a_summary(struct desk *d)
{
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    assert_true(blacklist_has(d->m.avoid, "bad.node"));
    agents_return(d);
    assert_int_equal(task(&d->b, "w:1")->attempt, 1);
    ended(&d->b, "w:1", 3);
    pass(&d->b, 60000);
    assert_int_equal(engine_state(d->b.e), JOB_RUNNING);
    assert_int_equal(task(&d->b, "w:1")->attempt, 2);
    ended(&d->b, "w:1", 3);
    pass(&d->b, 60000);
    assert_int_equal(engine_state(d->b.e), JOB_FAILED);
    keep_events(d);
    kill_master(d);
}

static void one_that_is_summed_up(struct desk *d)
{
    next_master(d);
    assert_int_equal(blacklist_restore(d->m.avoid, "bad.node", true), 0);
    d->summaries = true;
    ended(&d->b, "w:1", 3);
    pass(&d->b, 60000);
    keep_events(d);
    d->summaries = false;
    assert_true(d->side.summary.text.len > 0);
    write_one_more(d);
    assert_int_equal(d->side.summary.text.len, 0);
    kill_master(d);
}

static void read_nothing_before(struct desk *d)
{
    AUTO_FREE char *first = segment_path(d, "events-1.jsonl");
    char line[64] = "";

    one_that_is_summed_up(d);
    /* Whoever reads the first segment now reads nonsense. */
    assert_int_equal(path_remove(first, NULL), 0);
    assert_int_equal(path_write_new(first, "{}\n", 3, 0600, NULL), 0);
    next_master(d);
    assert_true(journal_read(&d->m.journal, 0, line, sizeof(line) - 1) > 0);
    assert_true(segment_is_summary(line, strlen(line)));
    goes_on_from_a_summary(d);
}

/* Its master died while it wrote the summary. */
static void cut_it_short(struct desk *d)
{
    AUTO_FREE char *path = segment_path(d, "events-1.9.jsonl");
    AUTO_BUF text = { .max = MIB };

    one_that_is_summed_up(d);
    assert_int_equal(engine_new(&d->b.spec, &d->b.opt, &d->b.e, NULL), 0);
    assert_int_equal(engine_summary(d->b.e, &(struct engine_facts){ 0 }, d->b.now, &text), 0);
    d->b.e = engine_free(d->b.e);
    assert_int_equal(path_write_new(path, text.data, text.len, 0600, NULL), 0);
    next_master(d);
    goes_on_from_a_summary(d);
}

static void a_new_master_begins_with_the_last_summary(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, read_nothing_before);
    with_desk(SPEC_RESTART_GANG, 2, read_nothing_before);
}

static void a_summary_that_is_cut_short_is_none(void **state)
{
    (void)state;
    with_desk(SPEC_RESTART_TASK, 2, cut_it_short);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_is_read_once_by_every_master),
        cmocka_unit_test(what_a_replaced_master_writes_does_not_count),
        cmocka_unit_test(a_log_that_repeats_itself_counts_once),
        cmocka_unit_test(numbers_of_agents_are_not_given_twice),
        cmocka_unit_test(every_master_knows_whose_output_is_missing),
        cmocka_unit_test(a_new_master_begins_with_the_last_summary),
        cmocka_unit_test(a_summary_that_is_cut_short_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
