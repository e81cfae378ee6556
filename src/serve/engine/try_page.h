/* try_page.h - the page at /, from try_page.html, inside the program. */
#pragma once
#include <stddef.h>

struct try_page_file {
    const char *name;
    const unsigned char *data;
    size_t size;
};

extern const struct try_page_file try_page_files[]; /* one; ends with a NULL name */
