/* spec_after.c - dependencies between roles: names nobody has, and cycles; see spec_check(). */
#include "job/spec/spec_checks.h"

#include <string.h>

enum colour { NEW, ON_WAY, SEEN };

struct search {
    struct spec_checker *c;
    enum colour colour[SPEC_ROLES_MAX];
    size_t way[SPEC_ROLES_MAX], n; /* from where we started to where we are */
};

static size_t spec_after_place_of(const struct spec *s, const char *name)
{
    const struct spec_role *r = spec_role(s, name);

    return r ? (size_t)(r - s->roles) : SPEC_ROLES_MAX;
}

static int spec_after_unknown(struct spec_checker *c, const char *name)
{
    const char *names[SPEC_ROLES_MAX], *near;
    char shown[48];

    for (size_t i = 0; i < c->n_roles; i++)
        names[i] = c->roles[i].name;
    near = str_nearest(name, names, c->n_roles);
    str_clean(shown, sizeof(shown), name);
    return spec_check_fault(c, "after", "there is no role '%s'%s%s%s", shown,
                            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* "worker → ps → worker": the part of the way that begins and ends at role `to`. */
static int cycle(struct search *x, size_t to)
{
    const struct spec_role *roles = x->c->s->roles;
    AUTO_BUF text = { .max = 8 * KIB };
    bool inside = false;

    for (size_t i = 0; i < x->n; i++) {
        inside |= x->way[i] == to;
        if (inside && buf_printf(&text, "%s → ", roles[x->way[i]].name) < 0)
            return -ENOMEM;
    }
    if (buf_add_str(&text, roles[to].name) < 0 || !buf_text(&text))
        return -ENOMEM;
    return spec_check_fault(x->c, "after", "roles wait for each other: %s", buf_text(&text));
}

/* At most SPEC_ROLES_MAX deep: every role is on the way once. */
static int spec_after_visit(struct search *x, size_t at)
{
    const struct spec_role *role = &x->c->s->roles[at];
    int r = 0;

    x->colour[at] = ON_WAY;
    x->way[x->n++] = at;
    for (size_t i = 0; i < role->after.n && r == 0; i++) {
        size_t to = spec_after_place_of(x->c->s, role->after.v[i].role);

        x->c->role = role;
        if (to == SPEC_ROLES_MAX)
            r = spec_after_unknown(x->c, role->after.v[i].role);
        else if (x->colour[to] == ON_WAY)
            r = cycle(x, to);
        else if (x->colour[to] == NEW)
            r = spec_after_visit(x, to);
    }
    x->colour[at] = SEEN;
    x->n--;
    return r;
}

int spec_check_after(struct spec_checker *c)
{
    struct search x = { .c = c };
    int r = 0;

    for (size_t i = 0; i < c->s->n_roles && r == 0; i++)
        r = x.colour[i] == NEW ? spec_after_visit(&x, i) : 0;
    c->role = NULL;
    return r;
}
