/* serve_file_test.c - see serve_file.h */
#include "cmd/serve/serve_file.h"
#include "test.h"

#include <string.h>

static const char whole[] = "kind: serve\n"
                            "name: shop\n"
                            "platform: yarn\n"
                            "queue: root.web\n"
                            "label: fast\n"
                            "registry: models\n"
                            "models:\n"
                            "  - model: flowers@champion\n"
                            "    replicas: 2\n"
                            "    cpus: 4\n"
                            "    gpus: 1\n"
                            "    memory: 1.5g\n"
                            "    batch: 64\n"
                            "    batch-delay: 2ms\n"
                            "    device: cuda:1\n"
                            "    backend: env\n"
                            "    python: venv/bin/python\n"
                            "  - prices:7\n"
                            "gateway:\n"
                            "  host: 0.0.0.0\n"
                            "  port: 8500\n"
                            "  key-file: keys\n"
                            "  certificate: /etc/cert.pem\n"
                            "  private-key: key.pem\n"
                            "  haproxy: /opt/haproxy\n"
                            "update: {canary: 10%, errors: 0.5%, slower: 1.5, requests: 500}\n"
                            "timeout: 5m\n";

static void a_file_says_all_of_a_deployment(void **state)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SERVE_FILE s = { 0 };
    unsigned n = 0;

    (void)state;
    assert_int_equal(serve_file_parse("shop.yaml", whole, strlen(whole), &s, &f), 0);
    assert_int_equal(serve_file_resolve(&s, "/srv/shop"), 0);
    assert_string_equal(s.name, "shop");
    assert_string_equal(s.platform, "yarn");
    assert_string_equal(s.queue, "root.web");
    assert_string_equal(s.label, "fast");
    assert_string_equal(s.registry, "/srv/shop/models");
    assert_int_equal(s.n, 2);
    assert_string_equal(s.models[0].model, "flowers@champion");
    assert_int_equal(s.models[0].replicas, 2);
    assert_int_equal(s.models[0].cpus, 4);
    assert_int_equal(s.models[0].gpus, 1);
    assert_true(s.models[0].memory == 3 * (uint64_t)MIB * 512);
    assert_int_equal(s.models[0].batch, 64);
    assert_int_equal(s.models[0].batch_delay, 2);
    assert_string_equal(s.models[0].device, "cuda:1");
    assert_string_equal(s.models[0].library, "/srv/shop/env");
    assert_string_equal(s.models[0].python, "/srv/shop/venv/bin/python");
    assert_string_equal(s.models[1].model, "prices:7");
    assert_int_equal(s.models[1].replicas, 1);
    assert_int_equal(s.models[1].batch_delay, -1);
    assert_string_equal(s.gateway.host, "0.0.0.0");
    assert_int_equal(s.gateway.port, 8500);
    assert_string_equal(s.gateway.key_file, "/srv/shop/keys");
    assert_string_equal(s.gateway.certificate, "/etc/cert.pem");
    assert_string_equal(s.gateway.private_key, "/srv/shop/key.pem");
    assert_string_equal(s.gateway.haproxy, "/opt/haproxy");
    assert_int_equal(serve_file_percent(s.update.canary, &n), 0);
    assert_int_equal(n, 1000);
    assert_int_equal(serve_file_percent(s.update.errors, &n), 0);
    assert_int_equal(n, 50);
    assert_int_equal(serve_file_factor(s.update.slower, &n), 0);
    assert_int_equal(n, 150);
    assert_int_equal(s.update.requests, 500);
    assert_int_equal(s.timeout, 300000);
}

static void what_is_not_said_of_autoscaling_has_its_default(void **state)
{
    static const char text[] = "kind: serve\nmodels:\n  - {model: m, autoscale: {max: 8}}\n"
                               "  - {model: n, autoscale: {min: 2, max: 4, target: 1, "
                               "cool-down: 10s}}\n  - o\n";
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SERVE_FILE s = { 0 };

    (void)state;
    assert_int_equal(serve_file_parse("shop.yaml", text, strlen(text), &s, &f), 0);
    assert_int_equal(s.models[0].autoscale.max, 8);
    assert_int_equal(s.models[0].autoscale.min, 1);
    assert_int_equal(s.models[0].autoscale.target, AUTOSCALE_TARGET);
    assert_int_equal(s.models[0].autoscale.cool_down, AUTOSCALE_COOL_DOWN_MS);
    assert_int_equal(s.models[1].autoscale.min, 2);
    assert_int_equal(s.models[1].autoscale.target, 1);
    assert_int_equal(s.models[1].autoscale.cool_down, 10000);
    assert_int_equal(s.models[2].autoscale.max, 0);
}

#define HEAD "kind: serve\nmodels: [m]\n"

static void a_registry_on_hdfs_stays_what_it_is(void **state)
{
    static const char text[] = "kind: serve\nregistry: hdfs://ns/models\nmodels: [{model: m}]\n";
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SERVE_FILE s = { 0 };

    (void)state;
    assert_int_equal(serve_file_parse("shop.yaml", text, strlen(text), &s, &f), 0);
    assert_int_equal(f.n, 0);
    assert_int_equal(serve_file_resolve(&s, "/srv/shop"), 0);
    assert_string_equal(s.registry, "hdfs://ns/models");
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    static const struct {
        const char *text, *lines;
    } rows[] = {
        { "", "f.yaml:1: expected a map of keys, found nothing" },
        { "- a", "f.yaml:1: expected a map of keys, found a list" },
        { "kind: serve\n", "f.yaml:1: models: missing: which models?" },
        { HEAD "platform: mesos\n", "f.yaml:3: platform: 'mesos' is neither local nor yarn" },
        { "models: [m]\n", "f.yaml:1: kind: missing: a deployment's file has 'kind: serve'" },
        { "kind: job\nmodels: [m]\n", "f.yaml:1: kind: 'job' is not 'serve'" },
        { "kind: serve\nmodel: m\n", "f.yaml:2: model: unknown key (did you mean 'models'?)" },
        { "kind: serve\nmodels: m\n", "f.yaml:2: models: expected a list of models, found 'm'" },
        { "kind: serve\nmodels:\n - model: m\n   replica: 2\n",
          "f.yaml:4: models[0].replica: unknown key (did you mean 'replicas'?)" },
        { "kind: serve\nmodels:\n - model: m\n   batch_delay: 2ms\n",
          "f.yaml:4: models[0].batch_delay: unknown key (did you mean 'batch-delay'?)" },
        { "kind: serve\nmodels:\n - replicas: 2\n",
          "f.yaml:3: models[0].model: missing: which model?" },
        { "kind: serve\nmodels:\n - {model: m, replicas: 0}\n",
          "f.yaml:3: models[0].replicas: '0' is out of range (1 to 256)" },
        { "kind: serve\nmodels:\n - {model: m, cpus: two}\n",
          "f.yaml:3: models[0].cpus: expected a number, found 'two'" },
        { "kind: serve\nmodels:\n - {model: m, batch-delay: 2ms}\n",
          "f.yaml:3: models[0].batch-delay: needs 'batch', the number of rows to join" },
        { "kind: serve\nmodels: ['m:1', 'm@a']\n",
          "f.yaml:2: models[1].model: 'm' is there twice" },
        { "kind: serve\nmodels:\n - {model: m, device: gpu}\n",
          "f.yaml:3: models[0].device: 'gpu' is not cpu, cuda or cuda:N" },
        { HEAD "gateway: {keyfile: x}\n",
          "f.yaml:3: gateway.keyfile: unknown key (did you mean 'key-file'?)" },
        { HEAD "gateway: {private-key: x}\n",
          "f.yaml:3: gateway.private-key: needs 'certificate'" },
        { HEAD "update: {canary: all}\n",
          "f.yaml:3: update.canary: 'all' is not a share such as 10%" },
        { HEAD "update: {canary: 101%}\n",
          "f.yaml:3: update.canary: '101%' is not a share such as 10%" },
        { HEAD "update: {canary: 0%, slower: 0.5}\n",
          "f.yaml:3: update.canary: '0%' is not a share such as 10%\nf.yaml:3: update.slower: "
          "'0.5' is not a number from 1 to 100" },
        { HEAD "nmae: x\nreplicas: 2\n",
          "f.yaml:3: nmae: unknown key (did you mean 'name'?)\nf.yaml:4: replicas: unknown key "
          "(known are kind, name, platform, queue, label, registry, models, gateway, update, "
          "timeout)" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SPEC_FAULTS f = { 0 };
        AUTO_SERVE_FILE s = { 0 };
        AUTO_BUF lines = { .max = MIB };

        assert_int_equal(serve_file_parse("f.yaml", rows[i].text, strlen(rows[i].text), &s, &f),
                         -EINVAL);
        for (size_t k = 0; k < f.lines.n; k++)
            assert_int_equal(buf_printf(&lines, "%s%s", k ? "\n" : "", f.lines.v[k]), 0);
        assert_string_equal(buf_text(&lines), rows[i].lines);
    }
}

static void what_is_wrong_with_autoscaling_is_told(void **state)
{
    static const struct {
        const char *text, *lines;
    } rows[] = {
        { "kind: serve\nmodels:\n - {model: m, autoscale: {min: 2}}\n",
          "f.yaml:3: models[0].autoscale.max: missing: up to how many replicas?" },
        { "kind: serve\nmodels:\n - {model: m, autoscale: {min: 3, max: 2}}\n",
          "f.yaml:3: models[0].autoscale.min: 3 is more than 'max', which is 2" },
        { "kind: serve\nmodels:\n - {model: m, autoscale: {max: 300}}\n",
          "f.yaml:3: models[0].autoscale.max: '300' is out of range (1 to 256)" },
        { "kind: serve\nmodels:\n - {model: m, autoscale: {max: 2, goal: 3}}\n",
          "f.yaml:3: models[0].autoscale.goal: unknown key (known are max, min, target, "
          "cool-down)" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SPEC_FAULTS f = { 0 };
        AUTO_SERVE_FILE s = { 0 };
        AUTO_BUF lines = { .max = MIB };

        assert_int_equal(serve_file_parse("f.yaml", rows[i].text, strlen(rows[i].text), &s, &f),
                         -EINVAL);
        for (size_t k = 0; k < f.lines.n; k++)
            assert_int_equal(buf_printf(&lines, "%s%s", k ? "\n" : "", f.lines.v[k]), 0);
        assert_string_equal(buf_text(&lines), rows[i].lines);
    }
}

/* Its keys are those that the reader knows. */
static void the_schema_has_every_key(void **state)
{
    AUTO_JSON *schema = NULL;
    const json_t *properties, *model;

    (void)state;
    assert_int_equal(serve_file_schema(&schema, NULL), 0);
    properties = json_object_get(schema, "properties");
    assert_int_equal(json_object_size(properties), 10);
    model = json_array_get(
        json_object_get(json_object_get(json_object_get(properties, "models"), "items"), "anyOf"),
        1);
    assert_int_equal(json_object_size(json_object_get(model, "properties")), 11);
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_says_all_of_a_deployment),
        cmocka_unit_test(what_is_not_said_of_autoscaling_has_its_default),
        cmocka_unit_test(a_registry_on_hdfs_stays_what_it_is),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(what_is_wrong_with_autoscaling_is_told),
        cmocka_unit_test(the_schema_has_every_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
