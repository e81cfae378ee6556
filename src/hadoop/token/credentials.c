/* credentials.c - a set of tokens and secrets, each under an alias. A token that comes under an
 * alias which is there replaces the old one, as in Hadoop, so that renewed tokens do not pile up.
 * Secrets are wiped before their memory is freed. Its file is read in parse.c and written in
 * save.c. See credentials.h. */
#include "hadoop/token/credentials.h"
#include "base/array.h"
#include "base/str.h"
#include "hadoop/token/set.h"

#include <string.h>

void entry_done(struct entry *e)
{
    free(e->alias);
    token_done(&e->token);
    *e = (struct entry){ 0 };
}

void secret_done(struct secret *s)
{
    if (s->p)
        explicit_bzero(s->p, s->n);
    free(s->alias);
    free(s->p);
    *s = (struct secret){ 0 };
}

int credentials_new(struct credentials **ret, struct err *err)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : err_oom(err);
}

struct credentials *credentials_free(struct credentials *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < c->n_tokens; i++)
        entry_done(&c->tokens[i]);
    for (size_t i = 0; i < c->n_secrets; i++)
        secret_done(&c->secrets[i]);
    free(c->tokens);
    free(c->secrets);
    free(c);
    return NULL;
}

/* `e` is taken over in any case: into the set, or it is freed. */
int set_take_token(struct credentials *c, struct entry *e)
{
    int r;

    for (size_t i = 0; i < c->n_tokens; i++)
        if (str_eq(c->tokens[i].alias, e->alias)) {
            entry_done(&c->tokens[i]);
            c->tokens[i] = *e;
            return 0;
        }
    r = c->n_tokens == SET_MAX ? -E2BIG : ARRAY_ADD(c->tokens, c->n_tokens, *e);
    if (r < 0)
        entry_done(e);
    return r;
}

int set_take_secret(struct credentials *c, struct secret *s)
{
    int r;

    for (size_t i = 0; i < c->n_secrets; i++)
        if (str_eq(c->secrets[i].alias, s->alias)) {
            secret_done(&c->secrets[i]);
            c->secrets[i] = *s;
            return 0;
        }
    r = c->n_secrets == SET_MAX ? -E2BIG : ARRAY_ADD(c->secrets, c->n_secrets, *s);
    if (r < 0)
        secret_done(s);
    return r;
}

static int set_error(int r, struct err *err)
{
    if (r == -E2BIG)
        return err_set(err, r, "more than %d tokens or secrets", SET_MAX);
    return r < 0 ? err_oom(err) : 0;
}

int credentials_add(struct credentials *c, const char *alias, const struct token *t,
                    struct err *err)
{
    struct entry e = { .alias = strdup(alias ? alias : t->service) };

    if (!e.alias || token_copy(&e.token, t) < 0) {
        entry_done(&e);
        return err_oom(err);
    }
    return set_error(set_take_token(c, &e), err);
}

int credentials_add_secret(struct credentials *c, const char *alias, const void *p, size_t n,
                           struct err *err)
{
    struct secret s = { .alias = strdup(alias), .p = malloc(n ? n : 1), .n = n };

    if (!s.alias || !s.p) {
        free(s.alias);
        free(s.p);
        return err_oom(err);
    }
    if (n)
        memcpy(s.p, p, n);
    return set_error(set_take_secret(c, &s), err);
}

size_t credentials_count(const struct credentials *c)
{
    return c->n_tokens;
}

const struct token *credentials_at(const struct credentials *c, size_t i, const char **ret_alias)
{
    if (ret_alias)
        *ret_alias = c->tokens[i].alias;
    return &c->tokens[i].token;
}

/* Without a service: by the kind alone. An AMRM token comes with an empty service and an empty
 * alias, and there is one of its kind. */
const struct token *credentials_find(const struct credentials *c, const char *kind,
                                     const char *service)
{
    for (size_t i = 0; i < c->n_tokens; i++) {
        const struct token *t = &c->tokens[i].token;

        if (str_eq(t->kind, kind) && (!service || str_eq(t->service, service)))
            return t;
    }
    return NULL;
}

const void *credentials_secret(const struct credentials *c, const char *alias, size_t *ret_n)
{
    for (size_t i = 0; i < c->n_secrets; i++)
        if (str_eq(c->secrets[i].alias, alias)) {
            *ret_n = c->secrets[i].n;
            return c->secrets[i].p;
        }
    return NULL;
}

void credentials_remove_secret(struct credentials *c, const char *alias)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n_secrets; i++)
        if (str_eq(c->secrets[i].alias, alias))
            secret_done(&c->secrets[i]);
        else
            c->secrets[kept++] = c->secrets[i];
    c->n_secrets = kept;
}

static bool is_one_of(const char *kind, const char *const *kinds)
{
    for (; kinds && *kinds; kinds++)
        if (str_eq(kind, *kinds))
            return true;
    return false;
}

int credentials_copy(struct credentials *c, const struct credentials *from,
                     const char *const *without_kinds, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n_tokens; i++)
        if (!is_one_of(from->tokens[i].token.kind, without_kinds))
            r = credentials_add(c, from->tokens[i].alias, &from->tokens[i].token, err);
    for (size_t i = 0; r == 0 && i < from->n_secrets; i++)
        r = credentials_add_secret(c, from->secrets[i].alias, from->secrets[i].p,
                                   from->secrets[i].n, err);
    return r;
}
