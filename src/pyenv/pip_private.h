/* pip_private.h - what the files of pip.h share. */
#pragma once
#include "pyenv/pip.h"

#define PIP_DONE "done"

/* The file of requirements that a word names ("reqs.txt", "-r reqs.txt"), or NULL: it is a package,
 * or an option. Borrowed from the word. */
const char *pip_requirements(const char *word);
