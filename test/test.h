/* test.h - what every unit test includes: cmocka, which needs these headers before it, in this order. */
#pragma once
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
