/* totals.c - resources of all nodes, added up: memory and cores, which every node has, and whatever
 * other types the cluster has configured.
 *
 * The numbers come from a server. A sum that overflows stays at the largest number, and more than
 * TOTALS_MORE types are left out, so that nothing it says can make us grow without end. */
#include "cmd/cluster/totals.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Numbers of a server: a sum that does not fit is as large as can be. */
static void add_bounded(int64_t *sum, int64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum))
        *sum = n > 0 ? INT64_MAX : INT64_MIN;
}

/* The row of a type, made when it is new; NULL when there is no room or no memory. */
static int64_t *amounts_of(struct totals *t, const char *name)
{
    size_t i = 0;

    while (i < t->n_more && strcmp(t->more[i].name, name) != 0)
        i++;
    if (i == TOTALS_MORE)
        return NULL;
    if (i == t->n_more) {
        t->more[i].name = strdup(name);
        if (!t->more[i].name)
            return NULL;
        t->n_more++;
    }
    return t->more[i].amount;
}

static int totals_add_more(struct totals *t, const Yarn__Resource *r, int half, struct err *err)
{
    for (size_t i = 0; r && i < r->n_values; i++) {
        const char *name = r->values[i]->key;
        int64_t *amount;

        if (strcmp(name, "memory-mb") == 0 || strcmp(name, "vcores") == 0)
            continue;
        amount = amounts_of(t, name);
        if (!amount && t->n_more < TOTALS_MORE)
            return err_oom(err);
        if (amount)
            add_bounded(&amount[half], r->values[i]->value);
    }
    return 0;
}

int totals_add(struct totals *t, const Yarn__Resource *used, const Yarn__Resource *there,
               struct err *err)
{
    const Yarn__Resource *both[] = { used, there };
    int r = 0;

    for (int half = 0; half < 2 && r == 0; half++) {
        add_bounded(&t->memory_mb[half], yarn_memory(both[half]));
        add_bounded(&t->vcores[half], yarn_vcores(both[half]));
        r = totals_add_more(t, both[half], half, err);
    }
    return r;
}

void totals_done(struct totals *t)
{
    for (size_t i = 0; i < t->n_more; i++)
        free(t->more[i].name);
    t->n_more = 0;
}

void totals_print(const struct totals *t)
{
    char name[256];

    for (size_t i = 0; i < t->n_more; i++) {
        str_clean(name, sizeof(name), t->more[i].name);
        printf("%-16s %lld of %lld used\n", name, (long long)t->more[i].amount[0],
               (long long)t->more[i].amount[1]);
    }
}

json_t *totals_json(const struct totals *t, bool used)
{
    int half = used ? 0 : 1;
    AUTO_JSON *others = json_object();
    json_t *v = NULL;

    for (size_t i = 0; others && i < t->n_more; i++) {
        AUTO_JSON *name = json_text(t->more[i].name);

        if (!name || json_object_set_new(others, json_string_value(name),
                                         json_integer(t->more[i].amount[half])) < 0)
            return NULL;
    }
    (void)json_make(&v, NULL, "{s:I, s:I, s:o}", "memory_mb", (json_int_t)t->memory_mb[half],
                    "vcores", (json_int_t)t->vcores[half], "others", take(others));
    return v;
}
