/* descriptors.h - room for as many connections as a server may have. */
#pragma once
#include <stddef.h>

/* Raises the limit of open files, as far as this user may, to what `connections` of `each`
 * descriptors need beside `others`. Returns how many connections fit then: fewer than were asked
 * for when the hard limit is lower, which is told in the log; never 0. */
size_t descriptors_room(size_t connections, size_t each, size_t others);
