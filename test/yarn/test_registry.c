/* test_registry.c - the registry by the library alone, told what to do line by line.
 *
 *     ydl-test-registry    reads lines, answers each with one of JSON
 *
 *     service NAME IP PORT           puts a service of class "ydl" of user "alice"
 *     component NAME CTR LABEL IP    puts a part of it that lives as long as this program
 *     get PATH    list PATH    delete PATH    delete-all PATH
 *
 * At the end of the input it closes the registry. */
#include "base/json.h"
#include "base/str.h"
#include "hadoop/registry/registry.h"
#include "loop/fiber.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define CALL_MS 20000

struct test {
    struct loop *loop;
    struct registry *registry;
    struct err err;
};

static int put_service(struct test *t, const struct strs *w)
{
    const struct registry_endpoint page = { .api = "http://ydl",
                                            .protocol = "webui",
                                            .host = w->v[2],
                                            .port = (int)strtol(w->v[3], NULL, 10) };
    const struct registry_record record = { .description = w->v[1],
                                            .persistence = REGISTRY_APPLICATION,
                                            .id = "application_1_0001",
                                            .external = &page,
                                            .n_external = 1 };
    AUTO_FREE char *path = NULL;
    int r = registry_service_path("alice", "ydl", w->v[1], &path, &t->err);

    return r < 0 ? r
                 : registry_put(t->registry, path, &record, false, loop_in(t->loop, CALL_MS),
                                &t->err);
}

static int put_component(struct test *t, const struct strs *w)
{
    const struct registry_record record = { .description = w->v[3],
                                            .persistence = REGISTRY_CONTAINER,
                                            .id = w->v[2],
                                            .ip = w->v[4],
                                            .hostname = w->v[3],
                                            .component = "worker" };
    AUTO_FREE char *service = NULL;
    AUTO_FREE char *path = NULL;
    char label[REGISTRY_LABEL];
    int r = registry_service_path("alice", "ydl", w->v[1], &service, &t->err);

    if (r == 0)
        r = registry_component_path(service, registry_container(w->v[2], label), &path, &t->err);
    return r < 0
               ? r
               : registry_put(t->registry, path, &record, true, loop_in(t->loop, CALL_MS), &t->err);
}

static int get(struct test *t, const struct strs *w)
{
    AUTO_JSON *record = NULL;
    AUTO_FREE char *text = NULL;
    int r = registry_get(t->registry, w->v[1], &record, loop_in(t->loop, CALL_MS), &t->err);

    if (r < 0)
        return r;
    text = json_dumps(record, JSON_COMPACT);
    printf("%s\n", text);
    return 1;
}

static int list(struct test *t, const struct strs *w)
{
    AUTO_STRS names = { 0 };
    int r = registry_list(t->registry, w->v[1], &names, loop_in(t->loop, CALL_MS), &t->err);

    if (r < 0)
        return r;
    printf("[");
    for (size_t i = 0; i < names.n; i++)
        printf("%s\"%s\"", i ? ", " : "", names.v[i]);
    printf("]\n");
    return 1;
}

static int delete_one(struct test *t, const struct strs *w)
{
    return registry_delete(t->registry, w->v[1], false, loop_in(t->loop, CALL_MS), &t->err);
}

static int delete_all(struct test *t, const struct strs *w)
{
    return registry_delete(t->registry, w->v[1], true, loop_in(t->loop, CALL_MS), &t->err);
}

static const struct {
    const char *word;
    size_t n;
    int (*fn)(struct test *t, const struct strs *words);
} verbs[] = {
    { "service", 4, put_service },
    { "component", 5, put_component },
    { "get", 2, get },
    { "list", 2, list },
    { "delete", 2, delete_one },
    { "delete-all", 2, delete_all },
};

static int say_error(const struct err *err)
{
    AUTO_JSON *v = NULL;
    AUTO_FREE char *text = NULL;

    if (json_make(&v, NULL, "{s:o}", "error", json_text(err->text)) < 0)
        return -ENOMEM;
    text = json_dumps(v, JSON_COMPACT);
    printf("%s\n", text);
    return 0;
}

static int do_line(struct test *t, const char *line)
{
    AUTO_STRS words = { 0 };
    int r = strs_split(&words, line, " \n");

    t->err = (struct err)ERR_INIT;
    if (r < 0)
        return r;
    r = err_set(&t->err, -EINVAL, "what is '%s'?", words.n ? words.v[0] : "");
    for (size_t i = 0; words.n && i < COUNT_OF(verbs); i++)
        if (strcmp(words.v[0], verbs[i].word) == 0 && words.n == verbs[i].n)
            r = verbs[i].fn(t, &words);
    if (r == 0)
        printf("{}\n");
    if (r < 0)
        r = say_error(&t->err);
    fflush(stdout);
    return r < 0 ? r : 0;
}

/* Standard input, looked at now and then: the loop has to go on meanwhile. */
static int serve(struct test *t)
{
    char line[1000];
    struct pollfd in = { .fd = 0, .events = POLLIN };
    int r = 0;

    while (r == 0) {
        if (poll(&in, 1, 0) == 0)
            r = fiber_sleep(t->loop, 10);
        else if (!fgets(line, sizeof(line), stdin))
            break;
        else
            r = do_line(t, line);
    }
    return r;
}

static int run(void *arg)
{
    struct test *t = arg;
    AUTO_FREE char *dir = NULL;
    AUTO_CONF *conf = NULL;
    int r = conf_find_dir(NULL, &dir, &t->err);

    if (r == 0)
        r = conf_load(dir, &conf, &t->err);
    if (r == 0)
        r = registry_open(t->loop, conf, loop_in(t->loop, CALL_MS), &t->registry, &t->err);
    if (r < 0) {
        say_error(&t->err);
        return r;
    }
    printf("{\"open\": true}\n");
    fflush(stdout);
    r = serve(t);
    t->registry = registry_close(t->registry);
    return r;
}

int main(void)
{
    struct test t = { .registry = NULL };
    int r;

    setvbuf(stdin, NULL, _IONBF, 0); /* so that poll() sees all there is */
    r = loop_new(&t.loop, &t.err);
    if (r == 0)
        r = loop_run(t.loop, run, &t, true);
    loop_free(t.loop);
    return r < 0;
}
