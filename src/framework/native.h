/* native.h - roles that ydl-native can play: a scheduler or a server without Python.
 *
 * A framework that has such roles sets `native` in its row and calls native_role() in its
 * `complete`, before the table's commands are filled in. The result is an ordinary command that
 * begins with the word NATIVE_PROGRAM; the launcher replaces it by the program's path
 * (launch/native_programs.h), which only it knows.
 *
 *     ydl-native VERB [--fallback] [WORD…] [-- COMMAND…]
 *
 * COMMAND is what the role would run otherwise: its Python is where the framework's library is
 * looked for, and with --fallback it is run when there is none. Private to framework/ except for
 * the name. Pure. */
#pragma once
#include "framework/framework.h"

#define NATIVE_PROGRAM "ydl-native"

/* Does the role run ydl-native, wherever that may be? */
bool native_is(const struct spec_role *r);

/* Does a command start Python: "python3.11 x", "/env/bin/python x", "./train.py"? */
bool native_is_python(const struct strs *command);

/* What a role without a command of its own stands beside: the job's command or, where there is
 * none, the first command of a role. Borrowed; perhaps empty. */
const struct strs *native_beside(const struct spec *s);

struct native_words {
    const char *const *v; /* "mxnet" and what belongs to it; ends with NULL */
    bool fallback;
};

/* Gives the role the command. It has none: a command that the user wrote stays. 0 or -ENOMEM. */
int native_role(struct spec_role *r, const struct native_words *words, const struct strs *beside);
