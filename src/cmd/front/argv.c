/* argv.c - what translations build their calls with; see front.h. */
#include "cmd/front/front.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void front_call_done(struct front_call *c)
{
    strs_done(&c->words);
    strs_done(&c->notes);
    free(c->job);
    free(c->log_file);
    *c = (struct front_call){ 0 };
}

int front_add(struct front_call *c, const char *word)
{
    return strs_add(&c->words, word);
}

/* A new string by a format, at the end of a list. */
__attribute__((format(printf, 2, 0))) static int add_formatted(struct strs *l, const char *fmt,
                                                               va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        return -ENOMEM;
    return strs_take(l, text);
}

int front_option(struct front_call *c, const char *option, const char *fmt, ...)
{
    int r = strs_add(&c->words, option);
    va_list ap;

    va_start(ap, fmt);
    if (r == 0)
        r = add_formatted(&c->words, fmt, ap);
    va_end(ap);
    return r;
}

int front_note(struct front_call *c, const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = add_formatted(&c->notes, fmt, ap);
    va_end(ap);
    return r;
}

int front_command(struct front_call *c, const struct strs *command)
{
    int r = strs_add(&c->words, "--");

    for (size_t i = 0; r == 0 && i < command->n; i++)
        r = strs_add(&c->words, command->v[i]);
    return r;
}

/* ---- what was asked ---- */

const char *front_value(const struct front_ask *a, const char *name)
{
    return legacy_value(&a->syntax, a->args, name);
}

bool front_given(const struct front_ask *a, const char *name)
{
    return legacy_given(a->args, name);
}

const char *front_env(const struct front_ask *a, const char *name)
{
    size_t n = strlen(name);

    for (char *const *e = a->env; e && *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return (*e)[n + 1] ? *e + n + 1 : NULL;
    return NULL;
}

const char *front_on(const struct front_ask *a, const char *otherwise)
{
    const char *said = front_value(a, "--on");

    if (!said)
        said = front_env(a, "YDL_ON");
    return said ? said : otherwise;
}

bool front_attached(const struct front_ask *a)
{
    return !front_given(a, "--detach");
}

/* ---- jobs as files ---- */

bool front_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

static bool in_path(const char *path, const char *name)
{
    while (path && *path) {
        size_t n = strcspn(path, ":");
        AUTO_FREE char *file = str_printf("%.*s/%s", (int)n, n ? path : ".", name);

        if (file && access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* A Python environment has `python` in any case; elsewhere that name may be Python 2, or nobody. */
static const char *python(const struct front_ask *a)
{
    const char *path = front_env(a, "PATH");

    if (front_value(a, "--venv"))
        return "python";
    return in_path(path, "python3") || !in_path(path, "python") ? "python3" : "python";
}

int front_run_words(const struct front_ask *a, const struct strs *job, struct strs *ret)
{
    const char *first = job->n ? job->v[0] : "", *here = "";
    int r = 0;

    if (str_ends(first, ".py"))
        r = strs_add(ret, python(a));
    else if (str_ends(first, ".jar"))
        r = strs_add(ret, "java") < 0 ? -ENOMEM : strs_add(ret, "-jar");
    else if (!strchr(first, '/') && front_exists(first) && !in_path(front_env(a, "PATH"), first))
        here = "./"; /* a program beside us, which a shell would not find either */
    for (size_t i = 0; r == 0 && i < job->n; i++)
        r = strs_take(ret, str_printf("%s%s", i ? "" : here, job->v[i]));
    return r;
}
