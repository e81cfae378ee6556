/* front_print.h - help, manual pages and completions of the front ends, from their tables. Main
 * thread.
 */
#pragma once
#include "cmd/front/front.h"

/* What `NAME --help` shows; `verb` NULL: the whole front end. 0 or -ENOMEM. */
int print_help(FILE *out, const struct front *f, const struct front_verb *verb, unsigned width);

/* All of them, for `ydl help --man-dir` and `ydl completion`. */
extern const struct cli_others front_others;
/* The parts of it that front_print.c leaves to front_complete.c. */
void print_completion(FILE *out, const char *shell);
void print_names(FILE *out);

/* The syntax of a verb with its common options. */
struct legacy_syntax print_syntax(const struct front_verb *v);
