/* native.c - see native.h */
#include "framework/native.h"
#include "base/str.h"

#include <string.h>

bool native_is(const struct spec_role *r)
{
    return r->command.n > 0 && str_eq(str_behind(r->command.v[0], '/'), NATIVE_PROGRAM);
}

bool native_is_python(const struct strs *command)
{
    const char *base = command->n > 0 ? str_behind(command->v[0], '/') : "";

    return str_ends(base, ".py") ||
           (str_starts(base, "python") && strspn(base + 6, "0123456789.") == strlen(base + 6));
}

const struct strs *native_beside(const struct spec *s)
{
    for (size_t i = 0; s->command.n == 0 && i < s->n_roles; i++)
        if (s->roles[i].command.n > 0 && !native_is(&s->roles[i]))
            return &s->roles[i].command;
    return &s->command;
}

int native_role(struct spec_role *r, const struct native_words *words, const struct strs *beside)
{
    int e = strs_add(&r->command, NATIVE_PROGRAM);

    for (size_t i = 0; words->v[i] && e == 0; i++)
        e = strs_add(&r->command, words->v[i]);
    if (e == 0 && words->fallback)
        e = strs_add(&r->command, "--fallback");
    if (e == 0 && beside->n > 0)
        e = strs_add(&r->command, "--");
    for (size_t i = 0; i < beside->n && e == 0; i++)
        e = strs_add(&r->command, beside->v[i]);
    return e;
}
