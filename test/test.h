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

/* What this thread allocates from now on does not fail in the torture build: for a fake server or
 * another peer, whose own troubles nobody wants to know. */
void ydl_torture_spare_thread(void) __attribute__((weak));

static inline void test_spare_thread(void)
{
    if (ydl_torture_spare_thread)
        ydl_torture_spare_thread();
}
