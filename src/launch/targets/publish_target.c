/* publish_target.c - see publish_target.h. A training job may take days: what would keep its model
 * from being published is told before it starts. */
#include "launch/targets/publish_target.h"
#include "base/path.h"
#include "launch/machine_check.h"
#include "model/git_head.h"
#include "model/layout.h"
#include "model/models.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "output.publish"
#define TAG_MOST 1024

/* ---- names ---- */

static int publish_fault(struct spec_faults *f, const char *key, const char *text)
{
    return spec_fault(f, 0, key, "%s", text) == -ENOMEM ? -ENOMEM : 0;
}

static int publish_check_name(struct spec_faults *f, const char *key, const char *what,
                              const char *name)
{
    struct err err = ERR_INIT;
    bool told = name && (strchr(name, '/') || strstr(name, "..")); /* by spec_check() */

    return !name || told || model_name_check(what, name, &err) == 0
               ? 0
               : publish_fault(f, key, err.text);
}

/* It stays below the results. */
static int publish_check_path(struct spec_faults *f, const char *path)
{
    bool bad = path && (*path == '/' || !*path);

    for (const char *p = path; p && !bad; p = strchr(p, '/')) {
        p += *p == '/';
        bad = p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0');
    }
    return bad ? publish_fault(f, KEY ".path",
                               "it must be below the results, without '..': write model/")
               : 0;
}

static int publish_check_tags(struct spec_faults *f, const struct spec_vars *tags)
{
    int r = 0;

    for (size_t i = 0; i < tags->n && r == 0; i++) {
        if (!model_name_ok(tags->v[i].name))
            r = publish_fault(f, KEY ".tags",
                              "names of tags have letters, digits, '.', '_' and '-', the first a "
                              "letter or digit");
        else if (strlen(tags->v[i].value) > TAG_MOST)
            r = publish_fault(f, KEY ".tags", "a value is longer than 1024 bytes");
    }
    return r;
}

static int publish_check_names(const struct spec_publish *p, struct spec_faults *f)
{
    int r = publish_check_name(f, KEY ".name", "model", p->name);

    if (r == 0)
        r = publish_check_name(f, KEY ".alias", "alias", p->alias);
    if (r == 0)
        r = publish_check_path(f, p->path);
    return r < 0 ? r : publish_check_tags(f, &p->tags);
}

/* ---- the registry ---- */

/* From the job, else from the configuration; a path here becomes absolute, since the job's master
 * runs elsewhere. */
static int publish_find_registry(struct spec_publish *p, struct err *err)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    AUTO_FREE char *place = NULL;
    char *full;
    int r = p->registry ? 0 : models_place(&place, NULL, err);

    if (r < 0)
        return r;
    if (p->registry)
        place = take(p->registry);
    check_plain_path(place);
    full = spec_is_remote(place) || !cwd ? strdup(place) : path_join(cwd, place);
    if (!full)
        return err_oom(err);
    free(p->registry);
    p->registry = full;
    return 0;
}

static int publish_is_here(const struct spec_publish *p, struct spec_faults *f)
{
    return spec_fault(f, 0, KEY,
                      "a job on YARN publishes to a registry on HDFS, not to '%.200s': give "
                      "'registry: hdfs:///models', or set model.registry",
                      p->registry) == -ENOMEM
               ? -ENOMEM
               : 0;
}

/* The nearest directory that exists must be ours to write to. */
static int publish_check_here(const struct spec_publish *p, const char *below,
                              struct spec_faults *f)
{
    AUTO_FREE char *path = path_join(p->registry, below);
    struct stat st;
    int r = 0;

    while (path && stat(path, &st) < 0 && errno == ENOENT && !str_eq(path, "/")) {
        char *above = path_dir(path);

        free(path);
        path = above;
    }
    if (!path)
        return -ENOMEM;
    if (stat(path, &st) < 0)
        r = spec_fault(f, 0, KEY, "cannot publish to '%.200s': %m", p->registry);
    else if (!S_ISDIR(st.st_mode))
        r = spec_fault(f, 0, KEY, "cannot publish to '%.200s': '%.200s' is not a directory",
                       p->registry, path);
    else if (access(path, W_OK | X_OK) < 0)
        r = spec_fault(f, 0, KEY, "cannot publish to '%.200s': '%.200s' cannot be written to",
                       p->registry, path);
    return r == -ENOMEM ? r : 0;
}

static int publish_look_here(const struct spec_publish *p, struct spec_faults *f)
{
    AUTO_FREE char *versions = path_join(p->name, LAYOUT_VERSIONS);
    size_t before = f->n;
    int r = versions ? publish_check_here(p, versions, f) : -ENOMEM;

    return r < 0 || f->n > before ? r : publish_check_here(p, LAYOUT_STAGING, f);
}

/* ---- all of it ---- */

static bool publish_says_something(const struct spec_publish *p)
{
    return p->path || p->alias || p->registry || p->commit || p->tags.n;
}

static int publish_find_commit(struct spec *s)
{
    AUTO_FREE char *cwd = s->directory ? strdup(s->directory) : getcwd(NULL, 0);
    struct err err = ERR_INIT;
    int r = s->publish.commit || !cwd ? 0 : git_head(cwd, &s->publish.commit, &err);

    return r == -ENOMEM ? r : 0; /* without it, the manifest has none */
}

int publish_complete(struct spec *s, bool yarn, struct spec_faults *f)
{
    struct spec_publish *p = &s->publish;
    struct err err = ERR_INIT;
    size_t before = f->n;
    int r;

    if (!p->name)
        return publish_says_something(p) ? publish_fault(f, KEY,
                                                         "which model? Give 'name: NAME', "
                                                         "or --publish NAME")
                                         : 0;
    r = publish_check_names(p, f);
    if (r < 0 || f->n > before || !model_name_ok(p->name))
        return r;
    if (p->registry && !check_known_place(p->registry))
        return publish_fault(f, KEY ".registry",
                             "a registry is a directory, or on hdfs:// or viewfs://");
    r = publish_find_registry(p, &err);
    if (r < 0)
        return r == -ENOMEM ? r : publish_fault(f, KEY ".registry", err.text);
    r = publish_find_commit(s);
    if (r < 0 || spec_is_remote(p->registry))
        return r;
    return yarn ? publish_is_here(p, f) : publish_look_here(p, f);
}

const char *publish_remote(const struct spec *s)
{
    const struct spec_publish *p = &s->publish;

    return p->name && p->registry && spec_is_remote(p->registry) ? p->registry : NULL;
}

int publish_check(struct session *session, struct fs_set *set, const struct spec *s,
                  enum deploy_look look, struct err *err)
{
    const char *root = publish_remote(s);
    AUTO_FREE char *versions = NULL;
    AUTO_FREE char *staging = NULL;
    int r;

    if (!root)
        return 0;
    versions = str_printf("%s/%s/" LAYOUT_VERSIONS, root, s->publish.name);
    staging = str_printf("%s/" LAYOUT_STAGING, root);
    r = versions && staging ? deploy_check_place(session, set, versions, look, err) : err_oom(err);
    if (r == 0)
        r = deploy_check_place(session, set, staging, look, err);
    return r < 0 ? err_wrap(err, r, "cannot publish to '%s'", root) : 0;
}
