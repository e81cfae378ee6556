/* kvline.h - one line of the key-value protocol: a request taken apart, an answer put together.
 *
 *     put KEY VALUE            putnew KEY VALUE      get KEY
 *     wait KEY [MS]            list [PREFIX]         add KEY NUMBER
 *     barrier NAME [COUNT [MS]]                      progress STEP [TOTAL] [NAME=NUMBER …]
 *     del KEY                  scale ROLE COUNT      note TEXT
 *     leaving ROLE …           move TASK ATTEMPT
 *
 * `version` and `help` are answered by the agent itself.
 *
 * Words are separated by single spaces; the value of put and putnew, and the text of note, is the
 * rest of the line, spaces included. An answer is one line too: ok, value …, exists …, none,
 * timeout, keys …, error …. Pure.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stddef.h>

#define KVLINE_MAX (MIB + KIB) /* bytes of a line: a value may have 1 MiB */
#define KVLINE_WORDS 64

struct kvline_word {
    const void *p;
    size_t n;
};

/* Splits `line` (without its newline) into words that borrow from it. -EINVAL and an explanation if
 * it is not a request. */
int kvline_parse(const char *line, size_t n, struct kvline_word words[KVLINE_WORDS], size_t *ret_n,
                 struct err *err);

/* Appends the words of an answer as one line. A value that is not one line of text is answered with
 * an error that says where to get it. -ENOMEM, -E2BIG. */
int kvline_answer(const struct kvline_word *words, size_t n, struct buf *out);

extern const char kvline_help[]; /* what `help` answers: lines, ending with an empty one */
