/* spec_lists.c - values that are lists or maps of their own kind: roles, commands, environments,
 * files, dependencies, readiness; see spec_read.h. */
#include "job/spec/spec_read.h"

#include <string.h>

static int too_many(struct spec_reader *r, const struct spec_node *n)
{
    return spec_read_fault(r, "%zu entries; at most %d are allowed", n->n, SPEC_LIST_MAX);
}

/* What reads one element; `at` is the field. */
typedef int read_fn(struct spec_reader *r, const struct spec_node *n, void *at);

/* Calls `fn` for every element of a list or entry of a map, with the path and line of each. */
static int spec_lists_each(struct spec_reader *r, const struct spec_node *n, read_fn *fn, void *at)
{
    for (size_t i = 0; i < n->n; i++) {
        size_t mark;
        int e;

        e = spec_read_enter(r, n->v[i].key, i, &mark);
        if (e < 0)
            return e;
        r->line = n->v[i].line;
        e = fn(r, &n->v[i], at);
        if (e < 0)
            return e;
        spec_read_leave(r, mark);
    }
    return 0;
}

/* ---- words ---- */

static int read_word(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, "text", n);
    return strs_add(at, n->text);
}

static int read_texts(struct spec_reader *r, const struct spec_node *n, void *at)
{
    strs_done(at);
    if (n->kind == SPEC_NODE_TEXT)
        return strs_add(at, n->text);
    if (n->kind != SPEC_NODE_LIST)
        return spec_read_expected(r, "a list of texts", n);
    return n->n > SPEC_LIST_MAX ? too_many(r, n) : spec_lists_each(r, n, read_word, at);
}

static int spec_lists_read_command(struct spec_reader *r, const struct spec_node *n, void *at)
{
    struct err err = ERR_INIT;
    int e;

    strs_done(at);
    if (n->kind == SPEC_NODE_LIST)
        return spec_lists_each(r, n, read_word, at);
    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, "a command", n);
    e = spec_words(n->text, at, &err);
    return e == -EINVAL ? spec_read_fault(r, "%s", err.text) : e;
}

/* ---- environment ---- */

static int spec_lists_read_var(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind == SPEC_NODE_NOTHING)
        return spec_read_fault(r, "expected text, found nothing; write \"\" for empty text");
    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, "text", n);
    return spec_set_var(at, n->key, n->text);
}

static int spec_lists_read_env(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind != SPEC_NODE_MAP)
        return spec_read_expected(r, "a map of names and values", n);
    return n->n > SPEC_LIST_MAX ? too_many(r, n) : spec_lists_each(r, n, spec_lists_read_var, at);
}

/* ---- files ---- */

static int read_pair(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind != SPEC_NODE_TEXT && n->kind != SPEC_NODE_NOTHING)
        return spec_read_expected(r, "a name", n);
    return spec_add_file(at, n->key, n->kind == SPEC_NODE_TEXT ? n->text : NULL);
}

/* {from: X, to: Y}: the form that spec_json() writes, as keys of maps cannot be long in YAML. */
static int read_from_to(struct spec_reader *r, const struct spec_node *n, void *at)
{
    const struct spec_node *from = strcmp(n->v[0].key, "from") == 0 ? &n->v[0] : &n->v[1];
    const struct spec_node *to = from == &n->v[0] ? &n->v[1] : &n->v[0];

    if (strcmp(from->key, "from") != 0 || strcmp(to->key, "to") != 0)
        return spec_read_fault(r, "expected one FROM: TO, or the keys from and to");
    if (from->kind != SPEC_NODE_TEXT || to->kind != SPEC_NODE_TEXT)
        return spec_read_fault(r, "from and to must be text");
    return spec_add_file(at, from->text, to->text);
}

static int spec_lists_read_file(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind == SPEC_NODE_TEXT)
        return spec_add_file(at, n->text, NULL);
    if (n->kind != SPEC_NODE_MAP)
        return spec_read_expected(r, "a file", n);
    if (n->n == 1)
        return read_pair(r, &n->v[0], at);
    if (n->n == 2)
        return read_from_to(r, n, at);
    return spec_read_fault(r, "expected one FROM: TO, found %zu", n->n);
}

static int spec_lists_read_files(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->n > SPEC_LIST_MAX)
        return too_many(r, n);
    if (n->kind == SPEC_NODE_TEXT)
        return spec_lists_read_file(r, n, at);
    return spec_lists_each(r, n, n->kind == SPEC_NODE_MAP ? read_pair : spec_lists_read_file, at);
}

/* One entry of `output`: a key of the table, which no directory can be called then (publish/ can),
 * or FROM: TO. */
static int read_output_entry(struct spec_reader *r, const struct spec_node *n, void *at)
{
    const struct spec_key *keys = spec_key_find(spec_job_keys, "output")->keys;
    const struct spec_key *k = spec_key_find(keys, n->key);

    return k ? spec_read_value(r, k, n, r->spec) : read_pair(r, n, at);
}

static int read_output_item(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind == SPEC_NODE_MAP && n->n == 1)
        return spec_lists_each(r, n, read_output_entry, at);
    return spec_lists_read_file(r, n, at);
}

static int read_output(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind == SPEC_NODE_TEXT)
        return spec_add_file(at, "", n->text);
    if (n->n > SPEC_LIST_MAX)
        return too_many(r, n);
    return spec_lists_each(r, n, n->kind == SPEC_NODE_MAP ? read_output_entry : read_output_item,
                           at);
}

/* ---- tags ---- */

static int read_tag(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, "text", n);
    return spec_set_var(at, n->key, n->text);
}

static int read_tags(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind != SPEC_NODE_MAP)
        return spec_read_expected(r, "a map of names and texts", n);
    return n->n > SPEC_LIST_MAX ? too_many(r, n) : spec_lists_each(r, n, read_tag, at);
}

/* ---- amounts ---- */

static int read_amount(struct spec_reader *r, const struct spec_node *n, void *at)
{
    int64_t v = 0;
    int e;

    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, "a whole number", n);
    e = str_to_i64(n->text, 1, SPEC_AMOUNT_MAX, &v);
    if (e == -ERANGE)
        return spec_read_fault(r, "'%s' is out of range (1 to %lld)", n->text,
                               (long long)SPEC_AMOUNT_MAX);
    return e < 0 ? spec_read_expected(r, "a whole number", n) : spec_set_amount(at, n->key, v);
}

static int read_amounts(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind != SPEC_NODE_MAP)
        return spec_read_expected(r, "a map of names and numbers", n);
    return n->n > SPEC_AMOUNTS_MAX
               ? spec_read_fault(r, "%zu entries; at most %d are allowed", n->n, SPEC_AMOUNTS_MAX)
               : spec_lists_each(r, n, read_amount, at);
}

/* ---- after ---- */

static const char *const whens[] = { "started", "ready", "finished", NULL };

static int add_after(struct spec_reader *r, const char *role, const char *when, void *at)
{
    int i = spec_choice(when, whens);

    return i < 0 ? spec_read_bad_choice(r, when, whens) : spec_add_after(at, role, (unsigned)i);
}

static int read_after_pair(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind == SPEC_NODE_LIST || n->kind == SPEC_NODE_MAP)
        return spec_read_expected(r, "started, ready or finished", n);
    return add_after(r, n->key, n->kind == SPEC_NODE_TEXT ? n->text : "ready", at);
}

/* "ps", "ps ready" or {ps: ready}. A role without a check of readiness is ready when it is
 * started, so that "ready" is the right meaning of a name alone. */
static int read_after_item(struct spec_reader *r, const struct spec_node *n, void *at)
{
    AUTO_STRS words = { 0 };

    if (n->kind == SPEC_NODE_MAP)
        return spec_lists_each(r, n, read_after_pair, at);
    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, "a role", n);
    if (strs_split(&words, n->text, " \t\n") < 0)
        return -ENOMEM;
    if (words.n < 1 || words.n > 2)
        return spec_read_expected(r, "a role, or a role and one of started, ready, finished", n);
    return add_after(r, words.v[0], words.n == 2 ? words.v[1] : "ready", at);
}

static int read_after(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->n > SPEC_ROLES_MAX)
        return spec_read_fault(r, "%zu entries; a job has at most %d roles", n->n, SPEC_ROLES_MAX);
    return n->kind == SPEC_NODE_LIST ? spec_lists_each(r, n, read_after_item, at)
                                     : read_after_item(r, n, at);
}

/* ---- ready ---- */

/* One of port, http, file and log: the row's place says the kind. */
static int read_check(struct spec_reader *r, const struct spec_node *n, size_t row,
                      struct spec_ready *ready)
{
    enum spec_ready_kind kind = (enum spec_ready_kind)(row + 1);

    if (ready->kind != SPEC_READY_NONE)
        return spec_read_fault(r, "give only one of port, http, file and log");
    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, kind == SPEC_READY_PORT ? "true" : "text", n);
    if (kind == SPEC_READY_PORT && strcmp(n->text, "true") != 0)
        return spec_read_expected(r, "true", n);
    ready->kind = kind;
    return kind == SPEC_READY_PORT ? 0 : spec_set_text(&ready->what, n->text);
}

static int read_ready_key(struct spec_reader *r, const struct spec_key *keys,
                          const struct spec_node *n, struct spec_ready *ready)
{
    const struct spec_key *k = spec_key_find(keys, n->key);

    if (!k)
        return spec_read_unknown(r, keys, n->key);
    if (k->type == SPEC_MS)
        return spec_read_value(r, k, n, ready);
    return n->kind == SPEC_NODE_NOTHING ? 0 : read_check(r, n, (size_t)(k - keys), ready);
}

static int spec_lists_read_ready(struct spec_reader *r, const struct spec_key *k,
                                 const struct spec_node *n, struct spec_ready *ready)
{
    struct spec_node yes = { .kind = SPEC_NODE_TEXT, .text = (char[]){ "true" } };
    int e = 0;

    free(ready->what);
    *ready = (struct spec_ready){ 0 };
    if (n->kind == SPEC_NODE_TEXT && strcmp(n->text, k->keys[0].name) == 0)
        return read_check(r, &yes, 0, ready);
    if (n->kind != SPEC_NODE_MAP)
        return spec_read_expected(r, "port, or a map with port, http, file or log", n);
    for (size_t i = 0; i < n->n && e == 0; i++) {
        size_t mark;

        e = spec_read_enter(r, n->v[i].key, 0, &mark);
        if (e < 0)
            return e;
        r->line = n->v[i].line;
        e = read_ready_key(r, k->keys, &n->v[i], ready);
        spec_read_leave(r, mark);
    }
    return e;
}

/* ---- roles ---- */

static int read_role(struct spec_reader *r, const struct spec_node *n, void *at)
{
    struct spec_role *role = spec_role(r->spec, n->key);
    int e;

    (void)at;
    if (!role) {
        e = spec_add_role(r->spec, n->key, &role);
        if (e == -E2BIG)
            return spec_read_fault(r, "too many roles: a job has at most %d", SPEC_ROLES_MAX);
        if (e < 0)
            return e;
    }
    role->line = n->line;
    if (n->kind == SPEC_NODE_NOTHING)
        return 0;
    if (n->kind == SPEC_NODE_TEXT)
        return spec_read_value(r, spec_key_find(spec_role_keys, "count"), n, role);
    return spec_read_map(r, spec_role_keys, n, role);
}

static int spec_lists_read_roles(struct spec_reader *r, const struct spec_node *n, void *at)
{
    if (n->kind != SPEC_NODE_MAP)
        return spec_read_expected(r, "a map of roles", n);
    return spec_lists_each(r, n, read_role, at);
}

/* ---- which is which ---- */

static read_fn *const readers[SPEC_TYPES_] = {
    [SPEC_TEXTS] = read_texts,
    [SPEC_COMMAND] = spec_lists_read_command,
    [SPEC_ENV] = spec_lists_read_env,
    [SPEC_FILES] = spec_lists_read_files,
    [SPEC_OUTPUT] = read_output,
    [SPEC_AFTER] = read_after,
    [SPEC_ROLES] = spec_lists_read_roles,
    [SPEC_AMOUNTS] = read_amounts,
    [SPEC_EXPORTS] = spec_lists_read_env,
    [SPEC_TAGS] = read_tags,
};

int spec_read_list(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
                   void *base)
{
    void *at = (char *)base + k->offset;

    return k->type == SPEC_READY ? spec_lists_read_ready(r, k, n, at) : readers[k->type](r, n, at);
}
