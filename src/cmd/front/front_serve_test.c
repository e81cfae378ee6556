/* `ydl-mx serve` and `ydl-tf serve`; models that are there, as their tests lie in the tree. */
#include "cmd/front/front_testing.h"
#include "cmd/front/fronts.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const here[] = { "PATH=/usr/bin:/bin", "YDL_ON=local", NULL };
static const char *const planned[] = { "PATH=/usr/bin:/bin", "YDL_PLAN=1", NULL };

static void touch(const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fclose(f);
}

/* digits.onnx, net-symbol.json, saved.v2/saved_model.pb, flowers/1/saved_model.pb, handler/model.py
 * and handler/2026/ */
static int make_models(void **state)
{
    char dir[] = "/tmp/ydl-front-serve-XXXXXX";

    (void)state;
    if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("saved.v2", 0700) < 0 ||
        mkdir("flowers", 0700) < 0 || mkdir("flowers/1", 0700) < 0 || mkdir("handler", 0700) < 0 ||
        mkdir("handler/2026", 0700) < 0)
        return -1;
    touch("digits.onnx");
    touch("net-symbol.json");
    touch("saved.v2/saved_model.pb");
    touch("flowers/1/saved_model.pb");
    touch("handler/model.py");
    return 0;
}

static int remove_models(void **state)
{
    static const char *const files[] = { "digits.onnx", "net-symbol.json",
                                         "saved.v2/saved_model.pb", "flowers/1/saved_model.pb",
                                         "handler/model.py" };
    char dir[4096];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++)
        (void)unlink(files[i]);
    (void)rmdir("flowers/1");
    (void)rmdir("flowers");
    (void)rmdir("handler/2026");
    (void)rmdir("handler");
    (void)rmdir("saved.v2");
    return getcwd(dir, sizeof(dir)) && chdir("/") == 0 ? rmdir(dir) : -1;
}

static void check_all(const struct front_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *line = str_printf("serve%s%s", *rows[i].line ? " " : "", rows[i].line);
        struct front_row row = rows[i];

        row.line = line;
        if (!line)
            return;
        front_check(&front_mx, &row);
        front_check(&front_tf, &row);
    }
}

static void a_model_of_the_registry_is_served(void **state)
{
    static const struct front_row rows[] = {
        { "resnet", "serve deploy --on yarn resnet" },
        { "resnet:3", "serve deploy --on yarn resnet:3" },
        { "resnet@champion --on local", "serve deploy --on local resnet@champion" },
        { "resnet", "serve deploy --on local resnet", NULL, here },
        { "--model_name resnet --model_version 3", "serve deploy --on yarn resnet:3" },
        { "resnet --model-version 3", "serve deploy --on yarn resnet:3" },
        { "-n2 resnet --rest_api_port 8501 --host 0.0.0.0 --mem 1g --name shop",
          "serve deploy --replicas 2 --gateway-port 8501 --host 0.0.0.0 --memory 1g --name shop "
          "--on yarn resnet" },
        { "resnet --queue q --node-label gpu --gpus 1 --registry /srv/models",
          "serve deploy --queue q --label gpu --gpus 1 --registry /srv/models --on yarn resnet" },
    };

    (void)state;
    check_all(rows, COUNT_OF(rows));
}

static void a_path_is_put_into_the_registry_first(void **state)
{
    static const struct front_row rows[] = {
        { "digits.onnx", "model push --if-changed -- digits.onnx digits && "
                         "serve deploy --on yarn digits" },
        { "./saved.v2/ --model_version 7 --registry R",
          "model push --if-changed --registry R -- ./saved.v2/ saved.v2:7 && "
          "serve deploy --registry R --on yarn saved.v2:7" },
        { "--model_base_path flowers --model_name tulips --json -q",
          "model import --json --quiet -- flowers tulips && "
          "serve deploy --json --quiet --on yarn tulips" },
        { "--model-path flowers --model-version 1",
          "model import -- flowers flowers && serve deploy --on yarn flowers:1" },
        { "handler", "model push --if-changed -- handler handler && "
                     "serve deploy --on yarn handler" },
        { "hdfs://a/m.onnx --model_version 2", /* where versions may lie, too */
          "model import --or-push -- hdfs://a/m.onnx m:2 && serve deploy --on yarn m:2" },
        { "--model_base_path hdfs:///models/flowers",
          "model import --or-push -- hdfs:///models/flowers flowers && "
          "serve deploy --on yarn flowers" },
        { "digits.onnx", "serve deploy --on yarn digits",
          "'digits.onnx' is not put into the registry", planned },
    };

    (void)state;
    check_all(rows, COUNT_OF(rows));
}

static void wrong_use_gets_a_sentence(void **state)
{
    static const struct front_row rows[] = {
        { "", NULL, "a model is missing" },
        { "a b", NULL, "'b': one model at a time; 'ydl serve deploy' serves several" },
        { "a --model_base_path flowers", NULL,
          "'a': one model at a time; 'ydl serve deploy' serves several" },
        { "no/where", NULL, "there is no model 'no/where'" },
        { "./net", NULL, "there is no model './net'" },
        { "resnet:3 --model_version 4", NULL,
          "'resnet:3' says a version, and so does --model_version" },
        { "resnet --model_name other", NULL,
          "'resnet' is no path, so --model_name cannot give it another name" },
        { "digits.onnx --model_name a~b", NULL, "'a b' cannot be the name of a model" },
        { "flowers/..", NULL, "'..' cannot be the name of a model" },
        { "resnet --model_version new", NULL,
          "option '--model_version': 'new' is not a whole number" },
        { "resnet --on moon", NULL, "option '--on': 'moon' is not one of local, yarn" },
        { "resnet --docker-image x", NULL, "unknown option '--docker-image'" },
    };

    (void)state;
    check_all(rows, COUNT_OF(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_of_the_registry_is_served),
        cmocka_unit_test(a_path_is_put_into_the_registry_first),
        cmocka_unit_test(wrong_use_gets_a_sentence),
    };

    return cmocka_run_group_tests(tests, make_models, remove_models);
}
