/* native_programs.c - replaces the word `ydl-native` in commands that a framework made by a path,
 * and restores it when a job is copied: only the place knows the path. See native_programs.h. */
#include "launch/native_programs.h"
#include "base/path.h"
#include "framework/native.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The place of a word in a command; its end when it is not there. */
static size_t find_word(const struct strs *command, const char *word)
{
    size_t i = 0;

    while (i < command->n && !str_eq(command->v[i], word))
        i++;
    return i;
}

/* Keeps only what follows `--`. */
static int native_programs_restore(struct spec_role *r)
{
    size_t from = find_word(&r->command, "--") + 1;
    AUTO_STRS words = { 0 };
    struct strs old = r->command;

    for (size_t i = from; i < old.n; i++)
        if (strs_add(&words, old.v[i]) < 0)
            return -ENOMEM;
    r->command = words;
    words = old;
    return 0;
}

static int native_programs_missing(struct spec_role *r, const char *program, struct spec_faults *f)
{
    char key[64];

    if (find_word(&r->command, "--fallback") < find_word(&r->command, "--"))
        return native_programs_restore(r);
    (void)snprintf(key, sizeof(key), "roles.%s.command", r->name);
    return spec_fault(f, r->line, key,
                      "there is no program '%s' next to ydl: install both in the same directory",
                      program);
}

static int native_programs_place(struct spec_role *r, const char *program, bool travels,
                                 struct spec_faults *f)
{
    char *word;
    int e = 0;

    if (access(program, X_OK) < 0)
        return native_programs_missing(r, program, f);
    if (travels)
        e = spec_add_file(&r->files, program, NATIVE_PROGRAM);
    word = e == 0 ? strdup(travels ? "./" NATIVE_PROGRAM : program) : NULL;
    if (!word)
        return -ENOMEM;
    free(r->command.v[0]);
    r->command.v[0] = word;
    return 0;
}

int native_programs_find(struct spec *s, const char *dir, bool on_cluster, struct spec_faults *f)
{
    AUTO_FREE char *program = path_join(dir, NATIVE_PROGRAM);
    bool bad = false;
    int r = program ? 0 : -ENOMEM;

    for (size_t i = 0; i < s->n_roles && r == 0; i++) {
        struct spec_role *role = &s->roles[i];
        bool travels = on_cluster && role->place == SPEC_PLACE_CLUSTER;

        if (role->command.n == 0 || !str_eq(role->command.v[0], NATIVE_PROGRAM))
            continue;
        if (role->count == 0 && access(program, X_OK) < 0) /* it may get tasks later, or never */
            continue;
        if ((s->image || role->image) && !travels)
            continue;
        r = native_programs_place(role, program, travels, f);
        bad = bad || r == -EINVAL;
        r = r == -EINVAL ? 0 : r;
    }
    return r < 0 ? r : bad ? -EINVAL : 0;
}
