/* models_place.c - see models.h: what the configuration says of models; other keys are left alone.
 *
 *     model:
 *       registry: hdfs:///models        where the registry is when the command line does not say
 *       cache-limit: 50g                how much of it replicas keep on a node
 */
#include "base/path.h"
#include "model/models.h"

#include <string.h>
#include <yaml.h>

#define CONFIG "config.yaml"
#define REGISTRY "registry"
#define LIMIT "cache-limit"
#define CONFIG_MOST (256 * KIB)
#define SYSTEM_CONFIG "/etc/ydl/" CONFIG

static const yaml_node_t *place_member(yaml_document_t *d, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(d, p->key);

        if (k && k->type == YAML_SCALAR_NODE && str_eq((const char *)k->data.scalar.value, key))
            return yaml_document_get_node(d, p->value);
    }
    return NULL;
}

static int place_of(yaml_document_t *d, const char *what, const char *key, char **ret,
                    struct err *err)
{
    const yaml_node_t *model = place_member(d, yaml_document_get_root_node(d), "model");
    const yaml_node_t *v = place_member(d, model, key);

    if (!v)
        return 0;
    if (v->type != YAML_SCALAR_NODE || !*v->data.scalar.value ||
        strlen((const char *)v->data.scalar.value) != v->data.scalar.length)
        return err_set(err, -EINVAL, "%s:%zu: model.%s must be %s", what, v->start_mark.line + 1,
                       key,
                       str_eq(key, REGISTRY) ? "a path or an hdfs:// name" : "a size, such as 50g");
    *ret = strdup((const char *)v->data.scalar.value);
    return *ret ? 0 : err_oom(err);
}

int models_config_read(const char *what, const struct view *text, const char *key, char **ret,
                       struct err *err)
{
    yaml_parser_t parser;
    yaml_document_t d;
    int r;

    if (!yaml_parser_initialize(&parser))
        return err_oom(err);
    yaml_parser_set_input_string(&parser, text->p, text->n);
    if (yaml_parser_load(&parser, &d)) {
        r = place_of(&d, what, key, ret, err);
        yaml_document_delete(&d);
    } else {
        r = parser.error == YAML_MEMORY_ERROR
                ? err_oom(err)
                : err_set(err, -EINVAL, "%s:%zu: %s", what, parser.problem_mark.line + 1,
                          parser.problem ? parser.problem : "it cannot be read");
    }
    yaml_parser_delete(&parser);
    return r;
}

/* A file that is not there says nothing. */
static int place_from(const char *path, const char *key, char **ret, char **ret_from,
                      struct err *err)
{
    AUTO_BUF text = { .max = CONFIG_MOST };
    int r = path_read(path, &text, err);

    if (r == -ENOENT || r == -ENOTDIR) {
        err_clear(err);
        return 0;
    }
    if (r == 0) {
        const struct view v = view_of(text.data ? text.data : (const uint8_t *)"", text.len);

        r = models_config_read(path, &v, key, ret, err);
    }
    if (r == 0 && *ret && ret_from && !(*ret_from = strdup(path)))
        r = err_oom(err);
    return r;
}

/* The user's own file, then the machine's. */
static int place_configured(const char *key, char **ret, char **ret_from, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *own = NULL;
    int r = path_xdg(PATH_CONFIG, "ydl", &dir, NULL);

    *ret = NULL;
    if (ret_from)
        *ret_from = NULL;
    own = r == 0 ? path_join(dir, CONFIG) : NULL;
    r = own ? place_from(own, key, ret, ret_from, err) : 0;
    return r == 0 && !*ret ? place_from(SYSTEM_CONFIG, key, ret, ret_from, err) : r;
}

int models_cache_limit(uint64_t *ret, struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r = place_configured(LIMIT, &text, NULL, err);

    *ret = 0;
    if (r < 0 || !text)
        return r;
    if (str_to_size(text, ret) < 0 || *ret == 0 || *ret > INT64_MAX)
        return err_set(err, -EINVAL, "model." LIMIT ": '%.40s' is not a size, such as 50g", text);
    return 0;
}

int models_place(char **ret, char **ret_from, struct err *err)
{
    AUTO_FREE char *data = NULL;
    int r = place_configured(REGISTRY, ret, ret_from, err);

    if (r < 0 || *ret)
        return r;
    r = path_xdg(PATH_DATA, "ydl", &data, err);
    if (r < 0) {
        err_hint(err, "--registry DIR names the registry");
        return r;
    }
    *ret = path_join(data, "models");
    return *ret ? 0 : err_oom(err);
}
