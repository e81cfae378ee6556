/* vlong.h - the numbers of variable length in a TFile, which are not those of Writable. Private to
 * this directory.
 *
 * The first byte says how many follow: none for -32 to 127, else one to three whose high bits are
 * in the first byte, or four to eight that hold the number alone, with its sign. */
#pragma once
#include "base/buf.h"

#define VLONG_MAX 9 /* bytes */

size_t vlong_more(uint8_t first); /* bytes after the first */
int64_t vlong_read(struct view *v);
