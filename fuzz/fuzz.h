/* fuzz.h - what a fuzz target defines: one function that reads hostile bytes and must not break.
 *
 * A target is fuzz/NAME.c with this function, a corpus in fuzz/corpus/NAME/, and a row in
 * fuzz/CMakeLists.txt. libFuzzer calls it with bytes of its own making; replay.c with every file
 * of the corpus, in every preset, so that what was once found stays fixed. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Always 0. Keeps nothing from one call to the next. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
