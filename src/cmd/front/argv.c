/* argv.c - what translations build their calls with; see front.h. */
#include "cmd/front/front.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void front_call_done(struct front_call *c)
{
    strs_done(&c->before);
    strs_done(&c->words);
    strs_done(&c->notes);
    free(c->job);
    free(c->log_file);
    *c = (struct front_call){ 0 };
}

void front_add(struct front_call *c, const char *word)
{
    c->failed |= strs_add(&c->words, word) < 0;
}

void front_before(struct front_call *c, const char *word)
{
    c->failed |= strs_add(&c->before, word) < 0;
}

/* A new string by a format, at the end of a list. */
__attribute__((format(printf, 3, 0))) static void
add_formatted(struct front_call *c, struct strs *l, const char *fmt, va_list ap)
{
    char *text = NULL;

    c->failed |= vasprintf(&text, fmt, ap) < 0 || strs_take(l, text) < 0;
}

void front_option(struct front_call *c, const char *option, const char *fmt, ...)
{
    va_list ap;

    front_add(c, option);
    va_start(ap, fmt);
    add_formatted(c, &c->words, fmt, ap);
    va_end(ap);
}

void front_note(struct front_call *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_formatted(c, &c->notes, fmt, ap);
    va_end(ap);
}

void front_job(struct front_call *c, const json_t *job)
{
    free(c->job);
    c->job = json_dumps(job, JSON_COMPACT);
    c->failed |= !c->job;
}

void front_command(struct front_call *c, const struct strs *command)
{
    front_add(c, "--");
    for (size_t i = 0; i < command->n; i++)
        front_add(c, command->v[i]);
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
