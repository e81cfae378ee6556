/* xml.h - one Hadoop configuration file, from its bytes to its properties, by expat.
 *
 * The bytes may be hostile. Entities of the file itself are expanded within limits; external ones
 * are refused, so reading never opens anything: what an <xi:include> names is handed to the
 * caller. Any thread, no state of its own, does not block. Private to this directory and to the
 * fuzz target. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define XML_FILE_MAX (16u << 20) /* bytes of one file */
#define XML_TEXT_MAX (1u << 20)  /* bytes of one name or value */

struct xml_property {
    const char *name;  /* trimmed, never empty */
    const char *value; /* as it stands; NULL when there is none or it is empty, as in Hadoop */
    bool final;        /* later files may not change it */
    int line;          /* of the value */
};

/* The callback. All strings are borrowed for the call. A negative result ends the reading
 * and is returned by xml_read with the error that was set. */
struct xml_reader {
    int (*on_property)(void *arg, const struct xml_property *p, struct err *err);
    /* Reads what `href` names in place of the include. *found is true on entry; set to false
     * when there is no such file, so that the <xi:fallback> counts (or its absence is an
     * error). */
    int (*on_include)(void *arg, const char *href, int line, bool *found, struct err *err);
    void *arg;
};

/* Reads the `n` bytes at `p`, called `file` in errors ("file:line:column: …"). -EBADMSG when it is
 * not well-formed or not a configuration, -E2BIG past a limit. */
int xml_read(const char *file, const void *p, size_t n, const struct xml_reader *reader,
             struct err *err);
