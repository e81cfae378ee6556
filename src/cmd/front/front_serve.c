/* front_serve.c - `ydl-mx serve` and `ydl-tf serve`: a model behind an address.
 *
 *     ydl-tf serve --model_base_path /srv/flowers --model_version 2 --port 8501
 *       = ydl model import /srv/flowers flowers
 *         ydl serve deploy --gateway-port 8501 --on yarn flowers:2
 *
 * MXNetOnYARN and TensorFlow on YARN promised serving and never wrote it. The options are those
 * that people know from the model servers of the two frameworks, in either spelling: a path, a
 * version, an address. A path is put into the registry first; one whose files are there already
 * stays as it is. */
#include "base/path.h"
#include "cmd/front/fronts.h"
#include "model/name.h"

#include <dirent.h>
#include <string.h>

static const char *const serve_places[] = { "local", "yarn", NULL };

/* clang-format off */
static const struct cli_opt serve_options[] = {
    { "--model_base_path", .also = { "--model-path", "--model_path" }, .meta = "PATH",
      .help = "file or directory of the model, instead of MODEL" },
    { "--model_name", .also = { "--model-name" }, .meta = "NAME",
      .help = "name of the model in the registry", .fallback = "the name of its file" },
    { "--model_version", .also = { "--model-version" }, .meta = "N",
      .help = "version to serve", .fallback = "the newest", .type = CLI_I64, .least = 1 },
    { "-n", .also = { "--replicas" }, .meta = "N", .help = "number of model servers",
      .fallback = "1", .type = CLI_I64, .least = 1, .same_as = "--replicas" },
    { "--port", .also = { "--rest_api_port" }, .meta = "N",
      .help = "port of the address, for HTTP and gRPC", .fallback = "any that is free",
      .type = CLI_I64, .least = 1, .same_as = "--gateway-port" },
    { "--host", .meta = "ADDRESS", .help = "numeric address to listen on; 0.0.0.0: all",
      .same_as = "--host" },
    { "--cpus", .meta = "N", .help = "number of CPU cores per model server", .type = CLI_I64,
      .least = 1, .same_as = "--cpus" },
    { "--mem", .also = { "--memory" }, .meta = "SIZE", .help = "memory per model server",
      .same_as = "--memory" },
    { "--gpus", .meta = "N", .help = "number of GPUs per model server", .type = CLI_I64,
      .same_as = "--gpus" },
    { "--name", .meta = "NAME", .help = "name of the deployment", .fallback = "the model's",
      .same_as = "--name" },
    { "--registry", .meta = "DIR", .help = "registry of models", .fallback = "as 'ydl model'",
      .same_as = "--registry" },
    { "--backend", .meta = "PATH", .help = "the library that runs the model, or its directory",
      .fallback = "one that is found", .same_as = "--backend" },
    { "--on", .meta = "PLACE", .help = "where to run", .choices = serve_places,
      .fallback = "$YDL_ON, or yarn" },
    { "--queue", .meta = "QUEUE", .help = "queue to submit to", .same_as = "--queue" },
    { "--node-label", .meta = "LABEL", .help = "run only on nodes with this label",
      .same_as = "--label" },
    { "--timeout", .meta = "TIME", .help = "time for the first answer", .fallback = "2m",
      .same_as = "--timeout" },
    { 0 },
};
/* clang-format on */

/* ---- what is at the path ---- */

/* A directory that is one model whatever else it holds: a handler or a command. */
static bool is_one_model(const char *path)
{
    static const char *const names[] = { "model.py", "command.json" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *file = str_printf("%s/%s", path, names[i]);

        if (file && front_exists(file))
            return true;
    }
    return false;
}

/* TensorFlow Serving's directory of versions: 1/, 2/ … */
static bool has_versions(const char *path)
{
    AUTO_DIR DIR *d = opendir(path);
    struct dirent *e;
    int64_t n;

    while (d && (e = readdir(d))) {
        AUTO_FREE char *dir = str_to_i64(e->d_name, 1, INT64_MAX, &n) == 0
                                  ? str_printf("%s/%s/.", path, e->d_name)
                                  : NULL;

        if (dir && front_exists(dir))
            return true;
    }
    return false;
}

/* MXNet calls a model by the beginning of its files' names. */
static int check_path(const char *path, struct err *err)
{
    AUTO_FREE char *symbol = str_printf("%s-symbol.json", path);
    AUTO_FREE char *dir = path_dir(path);

    if (!symbol || !dir)
        return -ENOMEM;
    if (strstr(path, "://") || front_exists(path))
        return 0;
    cli_bad(err, "there is no model '%s'", path);
    if (front_exists(symbol))
        err_hint(err, "a model of MXNet is served from the directory of its files, which is '%s'",
                 dir);
    else
        err_hint(err, "'ydl model list' shows the models of the registry");
    return CLI_USAGE;
}

/* "/srv/flowers/" and "flowers.onnx" are `flowers`. The caller's. */
static char *name_of_path(const char *path)
{
    AUTO_FREE char *inside = str_printf("%s/.", path);
    size_t n = strlen(path), begin, end;
    const char *dot;

    if (!inside)
        return NULL;
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (begin = n; begin > 0 && path[begin - 1] != '/'; begin--)
        ;
    dot = memrchr(path + begin, '.', n - begin);
    end = dot && dot > path + begin && !front_exists(inside) ? (size_t)(dot - path) : n;
    return strndup(path + begin, end - begin);
}

/* ---- translating ---- */

struct serving {
    const char *path, *name; /* path: NULL when the model is in the registry */
    const char *version;     /* NULL: the newest */
};

static bool serve_is_path(const char *word)
{
    return strchr(word, '/') || front_exists(word);
}

static int serve_missing(const struct front_ask *a, struct err *err)
{
    cli_bad(err, "a model is missing");
    err_hint(err, "try: %s serve MODEL, with its path or its name in 'ydl model list'",
             a->front->program.name);
    return CLI_USAGE;
}

/* What the words mean; `made` keeps a name that is made from the path. */
static int serve_describe(const struct front_ask *a, struct serving *s, char **made,
                          struct err *err)
{
    const struct strs *words = &a->args->command;
    const char *word = words->n ? words->v[0] : NULL;

    s->path = front_value(a, "--model_base_path");
    s->name = front_value(a, "--model_name");
    s->version = front_value(a, "--model_version");
    if (words->n > 1 || (word && s->path))
        return cli_bad(err, "'%s': one model at a time; 'ydl serve deploy' serves several",
                       words->v[words->n - 1]);
    if (!s->path && word && serve_is_path(word))
        s->path = word;
    if (!s->path && word && s->name)
        return cli_bad(err, "'%s' is no path, so --model_name cannot give it another name", word);
    if (!s->path && !s->name)
        s->name = word;
    if (!s->path && !s->name)
        return serve_missing(a, err);
    if (!s->path && s->version && strpbrk(s->name, ":@"))
        return cli_bad(err, "'%s' says a version, and so does --model_version", s->name);
    if (!s->path || s->name)
        return 0;
    *made = name_of_path(s->path);
    s->name = *made;
    return *made ? 0 : -ENOMEM;
}

/* "--registry" and options of all commands, for the command before. */
static void serve_same(const struct front_ask *a, const char *name, struct front_call *c)
{
    const char *value = front_value(a, name);

    if (!front_given(a, name))
        return;
    front_before(c, name);
    if (value && *value)
        front_before(c, value);
}

static int serve_push(const struct front_ask *a, const struct serving *s, struct front_call *c,
                      struct err *err)
{
    static const char *const same[] = { "--registry", "--conf", "--json", "--quiet", "--verbose" };
    bool far = strstr(s->path, "://"); /* where the command will look, and nobody here can */
    bool versions = !far && !is_one_model(s->path) && has_versions(s->path);
    AUTO_FREE char *model =
        versions || !s->version ? strdup(s->name) : str_printf("%s:%s", s->name, s->version);
    int r = check_path(s->path, err);

    if (r < 0 || !model)
        return r < 0 ? r : -ENOMEM;
    if (!model_name_ok(s->name)) {
        cli_bad(err, "'%s' cannot be the name of a model", s->name);
        err_hint(err, "choose one with --model_name");
        return CLI_USAGE;
    }
    if (front_env(a, "YDL_PLAN") && !str_eq(front_env(a, "YDL_PLAN"), "0")) {
        front_note(c, "YDL_PLAN: '%s' is not put into the registry; the plan is that of '%s' there",
                   s->path, s->name);
        return 0;
    }
    front_before(c, "model");
    front_before(c, versions || far ? "import" : "push");
    if (!versions)
        front_before(c, far ? "--or-push" : "--if-changed");
    for (size_t i = 0; i < COUNT_OF(same); i++)
        serve_same(a, same[i], c);
    front_before(c, "--");
    front_before(c, s->path);
    front_before(c, model);
    return 0;
}

static int serve_translate(const struct front_ask *a, struct front_call *c, struct err *err)
{
    AUTO_FREE char *made = NULL;
    AUTO_FREE char *model = NULL;
    struct serving s = { 0 };
    int r = serve_describe(a, &s, &made, err);

    if (r == 0 && s.path)
        r = serve_push(a, &s, c, err);
    if (r < 0)
        return r;
    model = s.version ? str_printf("%s:%s", s.name, s.version) : strdup(s.name);
    if (!model)
        return -ENOMEM;
    front_option(c, "--on", "%s", front_on(a, "yarn"));
    front_add(c, model);
    return 0;
}

const struct front_verb front_serve_verb = {
    .cli = { .name = "serve",
             .summary = "serve a model behind an address",
             .operands = "[MODEL]",
             .text = "Starts model servers and a gateway in front of them, prints its address, and "
                     "leaves them running until 'ydl serve stop NAME'. MODEL is a file or "
                     "directory, or the name of a model in the registry, also as NAME:VERSION or "
                     "NAME@ALIAS. A file or directory is put into the registry first, unless the "
                     "newest version has the same files; of a directory with numbered versions, "
                     "all of them. See ydl-serve(1) for updates, status and logs.",
             .opts = serve_options,
             .lacks = COMMON_JOB,
             .complete = CLI_FILES },
    .habits = LEGACY_NAMES | LEGACY_JOINED,
    .verb = "serve deploy",
    .translate = serve_translate,
};
