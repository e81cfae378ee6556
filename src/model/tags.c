/* tags.c - see tags.h */
#include "model/tags.h"
#include "model/generations.h"
#include "model/layout.h"

int tags_of(const struct models *r, const struct manifest *m, int64_t *ret_generation, json_t **ret,
            struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_JSON *doc = NULL;
    int64_t generation = 0;
    json_t *tags;
    int x = models_path(r, m->name, &dir, err, LAYOUT_TAGS "/%lld", (long long)m->version);

    if (x == 0)
        x = generations_newest(r, dir, &generation, &doc, err);
    if (x < 0)
        return err_wrap(err, x, "tags of %s:%lld", m->name, (long long)m->version);
    if (ret_generation)
        *ret_generation = generation;
    tags = json_object_get(doc ? doc : m->doc, "tags");
    *ret = json_is_object(tags) ? json_incref(tags) : json_object();
    return *ret ? 0 : err_oom(err);
}

int tags_set(const struct models *r, const struct manifest *m, int64_t generation,
             const json_t *tags, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_JSON *doc = NULL;
    int x = models_path(r, m->name, &dir, err, LAYOUT_TAGS "/%lld", (long long)m->version);

    if (x == 0 && json_object_size(tags) > TAGS_MOST)
        return err_set(err, -E2BIG, "a version can have at most %d tags", TAGS_MOST);
    if (x == 0)
        x = json_make(&doc, err, "{s:o}", "tags", json_deep_copy(tags));
    if (x == 0)
        x = generations_add(r, dir, generation + 1, doc, err);
    if (x == -E2BIG)
        err_set(err, x, "the tags of %s:%lld are too large", m->name, (long long)m->version);
    if (x == -EEXIST)
        err_set(err, x, "somebody else changed the tags of %s:%lld at the same time", m->name,
                (long long)m->version);
    return x;
}
