/* test.h - what every unit test includes: cmocka, which needs these headers before it, in this
 * order, and a word to the torture build. */
#pragma once
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define TEST_PATH 128

/* "/tmp/NAME-XXXXXX" for mkdtemp() and mkstemp(), or below $TMPDIR: a tortured test ends in the
 * middle, and what it leaves there is removed with the directory. Returns `out`. */
static inline char *test_template(char out[TEST_PATH], const char *name)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(out, TEST_PATH, "%s/%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", name);
    return out;
}

/* A new directory of that kind; the test removes it. */
static inline bool test_dir(char out[TEST_PATH], const char *name)
{
    return mkdtemp(test_template(out, name)) != NULL;
}

/* What this thread allocates from now on does not fail in the torture build: for a fake server or
 * another peer, whose own troubles nobody wants to know. */
void ydl_torture_spare_thread(void) __attribute__((weak));

static inline void test_spare_thread(void)
{
    if (ydl_torture_spare_thread)
        ydl_torture_spare_thread();
}
