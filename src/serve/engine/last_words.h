/* last_words.h - what is said when a library crashes the process: which one, and at what. Without
 * it, whoever started a server sees a signal and nothing else.
 *
 *     last_words_set("the library '/…/libxgboost.so' crashed while it loaded the model 'x'");
 *
 * The sentence is written to standard error by the handler of a deadly signal, with the signal's
 * name; then the process dies of the signal as it would have. Libraries put handlers of their own
 * in place when they are opened, so it is set again before each step. One thread at a time. */
#pragma once

/* Cut at some length. NULL: nothing is said from here on. */
void last_words_set(const char *program, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
