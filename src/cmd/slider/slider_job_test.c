/* slider_job_test.c - from the three files of an application to its job. */
#include "cmd/slider/slider_verb_testing.h"

/* A path in the job, and what is there. */
struct row {
    const char *path, *value;
};

static void check_rows(const json_t *job, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *got = at(job, rows[i].path);

        if (got && !str_eq(got, rows[i].value))
            fail_msg("%s: %s, not %s", rows[i].path, got, rows[i].value);
    }
}

static void the_texts_files_make_a_job(void **state)
{
    static const struct row rows[] = {
        { "name", "'tf1'" },
        { "framework", "'slider'" },
        { "tags", "['slider']" },
        { "archives", "[{'/d/definition.tar':'app/definition'},{'/d/agent.tar':'slider'}]" },
        { "restart", "{'policy':'gang','max':5,'window':'21600s'}" },
        { "roles|ps|count", "2" },
        { "roles|ps|memory", "'1024m'" },
        { "roles|ps|cpus", "1" },
        { "roles|ps|ports", "1" },
        { "roles|ps|decides", "false" },
        { "roles|ps|command", "['python3','slider/agent.py']" },
        { "roles|ps|exports", "{'ps/host_port':'{host}:{port}'}" },
        { "roles|ps|image", "" },
        { "roles|worker|decides", "true" },
        { "roles|worker|memory", "'2056m'" },
        { "roles|worker|exports", "{'worker/host_port':'{host}:{port}'}" },
        { "master", "" },
    };
    struct slider_docs d = { 0 };
    AUTO_FREE char *notes = NULL;
    AUTO_JSON *job = NULL;
    struct err err = ERR_INIT;
    int r = docs(&d, NULL, NULL, NULL) ? make_job(&d, false, NULL, &job, &notes, &err) : -ENOMEM;

    (void)state;
    slider_docs_done(&d);
    if (r == -ENOMEM)
        return; /* the torture build */
    assert_string_equal(err.text, "");
    check_rows(job, rows, COUNT_OF(rows));
    assert_non_null(strstr(notes, "run.mode is docker, but no image"));
    /* Their order is that of yarn.role.priority. */
    assert_string_equal(json_object_iter_key(json_object_iter(json_object_get(job, "roles"))),
                        "worker");
}

/* What a script will find in its command.json, with the variables still in it. */
static void a_script_is_told_all_that_is_known(void **state)
{
    static const char config[] =
        "{" SCHEMA ", 'global': {"
        "'site.global.ps.port': '${ps.ALLOCATED_PORT}{PER_CONTAINER}',"
        "'site.global.worker.port': '${worker.ALLOCATED_PORT}{DEFAULT_2222}{PER_CONTAINER}',"
        "'site.global.two': '${ps.ALLOCATED_PORT}{PER_CONTAINER}-${ps.ALLOCATED_PORT}"
        "{PER_CONTAINER}',"
        "'site.global.dir': '${NN_URI}/user/${USER_NAME}/${CLUSTER_NAME}/${COMPONENT_NAME}',"
        "'site.global.nn': '${NN_HOST} ${ZK_HOST} ${DEFAULT_ZK_PATH}',"
        "'site.global.hosts': '${worker_HOST}', 'site.global.id': '${COMPONENT_ID}',"
        "'site.global.own': '{rank} {prot} ${AGENT_WORK_ROOT} \\\\u0001',"
        "'site.hdfs-site.a.b': 7, 'java_home': '/jdk'},"
        "'components': {'ps': {'site.global.only': 'ps'}}}";
    static const struct row rows[] = {
        { "configurations|global|ps.port", "'{port}'" },
        { "configurations|global|worker.port", "'0'" },
        { "configurations|global|two", "'{port:1}-{port:2}'" },
        { "configurations|global|dir", "'hdfs://nn:8020/user/me/tf1/ps'" },
        { "configurations|global|nn", "'nn zk:2181 /services/slider/users/me/tf1'" },
        { "configurations|global|hosts", "'{addresses:worker}'" },
        { "configurations|global|id", "'{index}'" },
        { "configurations|global|own", "'{rank} {prot} ${AGENT_WORK_ROOT} \\\\u0001'" },
        { "configurations|global|only", "'ps'" },
        { "configurations|hdfs-site|a.b", "'7'" },
        { "hostLevelParams|java_home", "'/jdk'" },
        { "componentName", "'ps'" },
        { "appName", "'tf1'" },
        { "commandParams", "{'script':'scripts/tensorflow.py','script_type':'PYTHON',"
                           "'command_timeout':'600'}" },
        { "packages", "[{'type':'folder','name':'files'}]" },
    };
    struct slider_docs d = { 0 };
    AUTO_JSON *job = NULL;
    AUTO_JSON *command = NULL;
    const char *text;
    struct err err = ERR_INIT;
    int r = docs(&d, NULL, config, NULL) ? make_job(&d, false, NULL, &job, NULL, &err) : -ENOMEM;

    (void)state;
    slider_docs_done(&d);
    if (r == -ENOMEM)
        return;
    assert_string_equal(err.text, "");
    text = json_string_value(json_object_get(
        json_object_get(json_object_get(json_object_get(job, "roles"), "ps"), "env"),
        "SLIDER_COMMAND"));
    /* The user's own braces are no variables of ydl's. */
    assert_non_null(strstr(text, "\\u007brank} \\u007bprot}"));
    if (json_parse("command", text, strlen(text), &command, NULL) == -ENOMEM)
        return;
    check_rows(command, rows, COUNT_OF(rows));
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(json_object_get(job, "roles"), "ps"), "ports")),
                     3);
}

/* ps, chiefworker, worker and tensorboard, as in the package that came with Slider. */
static void the_real_package_makes_a_job(void **state)
{
    static const char metainfo[] =
        "{'schemaVersion': '2.1', 'application': {'name': 'tensorflow', 'version': '0.1.1',"
        "'exportGroups': [{'name': 'tensorboard', 'exports': [{'name': 'url', 'value':"
        " 'http://${tensorboard_HOST}:${site.global.tensorboard.port}'}]}],"
        "'commandOrders': [{'command': 'worker-START', 'requires': 'ps-STARTED, "
        "chiefworker-STARTED'}],"
        "'components': [{'name': 'ps', " SCRIPT "}, {'name': 'chiefworker', " SCRIPT "},"
        "{'name': 'worker', " SCRIPT "}, {'name': 'tensorboard', " SCRIPT "}]}}";
    static const char config[] =
        "{" SCHEMA ", 'global': {'site.global.docker.image': 'ytensorflow:0.2.1',"
        "'site.global.tensorboard.port': '${tensorboard.ALLOCATED_PORT}{PER_CONTAINER}',"
        "'site.global.slider.allowed.ports': '48000-49000'}}";
    static const char resources[] =
        "{" SCHEMA ", 'global': {'yarn.container.failure.window.hours': 1},"
        "'components': {'slider-appmaster': {'yarn.memory': '512', 'yarn.vcores': 2},"
        "'ps': {'yarn.role.priority': 1, 'yarn.component.instances': 2, 'yarn.memory': 2048,"
        " 'yarn.container.failure.threshold': '0'},"
        "'chiefworker': {'yarn.role.priority': 2, 'yarn.memory': 4096, 'yarn.io/gpu': 1},"
        "'worker': {'yarn.role.priority': 3, 'yarn.component.instances': 5,"
        " 'yarn.component.placement.policy': '4', 'yarn.label.expression': 'gpu',"
        " 'nec.com/ve': '2', 'ydl.restart': 'task'},"
        "'tensorboard': {'yarn.role.priority': 4, 'ydl.restart': 'never'}}}";
    static const struct row rows[] = {
        { "master", "{'memory':'512m','cpus':2}" },
        { "port-range", "'48000-49000'" },
        { "restart", "{'policy':'gang','max':5,'window':'3600s'}" },
        { "roles|ps|restart", "{'policy':'gang','max':1000000,'window':'3600s'}" },
        { "roles|ps|decides", "false" },
        { "roles|ps|side", "" },
        { "roles|chiefworker|count", "1" },
        { "roles|chiefworker|gpus", "1" },
        { "roles|chiefworker|restart", "" },
        { "roles|worker|memory", "'256m'" },
        { "roles|worker|spread", "'node'" },
        { "roles|worker|label", "'gpu'" },
        { "roles|worker|resources", "{'nec.com/ve':2}" },
        { "roles|worker|after", "{'ps':'started','chiefworker':'started'}" },
        { "roles|worker|restart", "{'policy':'task','max':5,'window':'3600s'}" },
        { "roles|worker|image", "" },
        { "roles|tensorboard|restart", "{'policy':'never','max':0}" },
        { "roles|tensorboard|side", "true" },
        { "roles|tensorboard|exports", "{'tensorboard/url':'http://{host}:{port}'}" },
    };
    struct slider_docs d = { 0 };
    AUTO_JSON *job = NULL;
    struct err err = ERR_INIT;
    int r = docs(&d, metainfo, config, resources) ? make_job(&d, false, NULL, &job, NULL, &err)
                                                  : -ENOMEM;

    (void)state;
    slider_docs_done(&d);
    if (r == -ENOMEM)
        return;
    assert_string_equal(err.text, "");
    check_rows(job, rows, COUNT_OF(rows));
}

static void on_one_machine_containers_have_no_size(void **state)
{
    static const struct row rows[] = {
        { "tags", "" },
        { "roles|ps|memory", "" },
        { "roles|ps|cpus", "" },
        { "roles|ps|gpus", "" },
        { "queue", "" },
        { "roles|worker|gpus", "2" },
        { "env", "{'A':'b'}" },
        { "venv", "'/v'" },
        { "roles|worker|image", "'img'" },
        { "files", "['/f']" },
        { "output", "'/o'" },
        { "archives",
          "[{'/d/definition.tar':'app/definition'},{'/d/agent.tar':'slider'},'/x.zip']" },
    };
    static const char extra[] = "{'queue': 'q', 'env': {'A': 'b'}, 'venv': '/v', 'image': 'img',"
                                "'files': ['/f'], 'output': '/o', 'archives': ['/x.zip'],"
                                "'gpus': 2}";
    struct slider_docs d = { 0 };
    AUTO_JSON *job = NULL;
    struct err err = ERR_INIT;
    int r = docs(&d, NULL, NULL, NULL) ? make_job(&d, true, extra, &job, NULL, &err) : -ENOMEM;

    (void)state;
    slider_docs_done(&d);
    if (r == -ENOMEM)
        return;
    assert_string_equal(err.text, "");
    check_rows(job, rows, COUNT_OF(rows));
}

/* Components that are a command of a shell need no Python. */
static void a_command_of_a_shell_is_run_as_it_is(void **state)
{
    static const char metainfo[] =
        "{'schemaVersion': '2.1', 'application': {'name': 'x', 'exportGroups': ["
        "{'name': 'Of', 'exports': [{'name': 'at', 'value': '${Server_HOST}'}]}], 'components': ["
        "{'name': 'Server', 'commands': [{'exec':"
        " 'serve {$conf:@//site/global/listen} {rank} {x} ${HOME}'}]},"
        "{'name': 'web', 'compExports': 'no-x, of-at', 'type': 'DOCKER',"
        " 'dockerContainers': [{'image': 'nginx',"
        " 'startCommand': 'nginx -g off'}]}]}}";
    static const char config[] = "{" SCHEMA ", 'global': {'site.global.listen':"
                                 "'${Server.ALLOCATED_PORT}', 'site.global.run.mode': 'docker',"
                                 "'site.global.docker.image': 'i:1'}}";
    static const char resources[] =
        "{" SCHEMA ", 'components': {'Server': {'yarn.role.priority': 1,"
        "'yarn.component.instances': 2}, 'web': {'yarn.role.priority': 2}}}";
    static const struct row rows[] = {
        { "roles|server|command", "['sh','-c','serve {port:server:0} {{rank}} {x} ${HOME}']" },
        { "roles|server|image", "'i:1'" },
        { "roles|server|ports", "1" },
        { "roles|web|command", "['sh','-c','nginx -g off']" },
        { "roles|web|image", "'nginx'" },
        /* Who lists an export has it, and nobody else. */
        { "roles|web|exports", "{'Of/at':'{addresses:server}'}" },
        { "roles|server|exports", "" },
    };
    struct slider_docs d = { 0 };
    AUTO_JSON *job = NULL;
    struct err err = ERR_INIT;
    int r = docs(&d, metainfo, config, resources) ? make_job(&d, false, NULL, &job, NULL, &err)
                                                  : -ENOMEM;

    (void)state;
    slider_docs_done(&d);
    if (r == -ENOMEM)
        return;
    assert_string_equal(err.text, "");
    check_rows(job, rows, COUNT_OF(rows));
}

#define ONE(what) "{" SCHEMA ", 'components': {'ps': {" what "}}}"
#define OTHER(what) "{" SCHEMA ", 'global': {" what "}}"

static const struct {
    const char *metainfo, *config, *resources, *text;
} mistakes[] = {
    { "{}", NULL, NULL, "metainfo.json: \"schemaVersion\" is ''; it must be \"2.1\"" },
    { "{'schemaVersion': '2.1'}", NULL, NULL, "metainfo.json: \"application\" is missing" },
    { "{'schemaVersion': '2.1', 'application': {'components': []}}", NULL, NULL,
      "metainfo.json: the application has no \"components\"" },
    { "{'schemaVersion': '2.1', 'application': {'components': [{'name': 'ps'}]}}", NULL, NULL,
      "metainfo.json: component 'ps' has neither a \"commandScript\" nor \"commands\" nor "
      "\"dockerContainers\"" },
    { NULL, "{}", NULL, "appConfig: \"schema\" is missing" },
    { NULL, "{'schema': 'x'}", NULL, "appConfig: \"schema\" is 'x'" },
    { NULL, NULL, "{'schema': 'x'}", "resources: \"schema\" is 'x'" },
    { NULL, NULL, "{" SCHEMA "}", "resources.json: \"components\" is missing" },
    { NULL, NULL, "{" SCHEMA ", 'components': {'wroker': {}}}",
      "resources.json: metainfo.json has no component 'wroker'; did you mean 'worker'?" },
    { NULL, NULL, ONE(""), "resources.json: component 'ps' has no yarn.role.priority" },
    { NULL, NULL, ONE("'yarn.role.priority': 0"),
      "resources.json: component 'ps': 'yarn.role.priority' is 0; the minimum is 1" },
    { NULL, NULL, ONE("'yarn.role.priority': 1, 'yarn.component.instances': '-1'"),
      "resources.json: component 'ps': 'yarn.component.instances' is -1; the minimum is 0" },
    { NULL, NULL, ONE("'yarn.role.priority': 1, 'yarn.component.instances': 'two'"),
      "resources.json: component 'ps': 'yarn.component.instances' is 'two', which is not a "
      "whole number" },
    { NULL, NULL, ONE("'yarn.role.priority': 1, 'yarn.component.instances': 0"),
      "resources.json: no component has any instances" },
    { NULL, NULL, ONE("'yarn.role.priority': 1, 'yarn.memory': 'max'"),
      "resources.json: component 'ps': 'yarn.memory' is 'max', which is not supported: give an "
      "amount; 'ydl cluster nodes' shows what nodes have" },
    { NULL, NULL, ONE("'yarn.role.priority': 1, 'ydl.restart': 'often'"),
      "resources.json: component 'ps': 'ydl.restart' is 'often'; it must be gang, task or "
      "never" },
    { NULL, NULL,
      "{" SCHEMA ", 'components': {'ps': {'yarn.role.priority': 1}, 'worker': "
      "{'yarn.role.priority': 1}}}",
      "resources.json: components 'ps' and 'worker' have the same yarn.role.priority, 1" },
    { NULL, OTHER("'site.global.worker.port': '1'"), NULL,
      "metainfo.json: an export names ${site.global.ps.port}, which is not in appConfig" },
    { NULL,
      OTHER("'site.global.ps.port': '${ps.ALLOCATED_PORT}${ps.ALLOCATED_PORT}"
            "${ps.ALLOCATED_PORT}${ps.ALLOCATED_PORT}${ps.ALLOCATED_PORT}',"
            "'site.global.worker.port': '1'"),
      NULL, "appConfig: component 'ps' uses more than 4 ports" },
};

static void what_is_wrong_is_said_in_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct slider_docs d = { 0 };
        AUTO_JSON *job = NULL;
        struct err err = ERR_INIT;
        int r = docs(&d, mistakes[i].metainfo, mistakes[i].config, mistakes[i].resources)
                    ? make_job(&d, false, NULL, &job, NULL, &err)
                    : -ENOMEM;

        slider_docs_done(&d);
        if (r == -ENOMEM)
            return;
        assert_string_equal(err.text, mistakes[i].text);
        assert_int_equal(r, CLI_USAGE);
    }
}

static void keys_without_effect_are_named_once(void **state)
{
    static const char resources[] =
        "{" SCHEMA ", 'components': {'ps': {'yarn.role.priority': 1, 'yarn.disk.size': 5,"
        "'component.unique.names': 'true', 'yarn.component.placement.policy': 1},"
        "'worker': {'yarn.role.priority': 2, 'yarn.component.instances': 0}}}";
    struct slider_docs d = { 0 };
    AUTO_FREE char *notes = NULL;
    AUTO_JSON *job = NULL;
    struct err err = ERR_INIT;
    int r =
        docs(&d, NULL, NULL, resources) ? make_job(&d, false, NULL, &job, &notes, &err) : -ENOMEM;

    (void)state;
    slider_docs_done(&d);
    if (r == -ENOMEM)
        return;
    assert_string_equal(err.text, "");
    assert_non_null(strstr(notes, "resources.json: ps: no effect here: yarn.disk.size, "
                                  "component.unique.names\n"));
    assert_non_null(strstr(notes, "component 'worker' has 0 instances\n"));
    assert_non_null(strstr(notes, "placement.policy 1 (the same nodes as last time)"));
    /* Alone, parameter servers decide. */
    check_rows(job, &(struct row){ "roles|ps|decides", "true" }, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_texts_files_make_a_job),
        cmocka_unit_test(a_script_is_told_all_that_is_known),
        cmocka_unit_test(the_real_package_makes_a_job),
        cmocka_unit_test(on_one_machine_containers_have_no_size),
        cmocka_unit_test(a_command_of_a_shell_is_run_as_it_is),
        cmocka_unit_test(what_is_wrong_is_said_in_a_sentence),
        cmocka_unit_test(keys_without_effect_are_named_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
