/* quote.h - text that survives the way from a launch context into a program's arguments and
 * environment.
 *
 * A NodeManager first replaces markers in the text (<LOG_DIR>, <CPS>, <ADD_OPENS>, "{{" by "$" and
 * "}}" by nothing), then writes it between double quotes into a bash script:
 *
 *     export NAME="VALUE"
 *     exec /bin/bash -c "WORD WORD WORD"
 *
 * so a value is read by one shell and a command by two. Pure; 0, -ENOMEM or -E2BIG. */
#pragma once
#include "base/buf.h"

/* One argument, exactly as it is, for a command. */
int quote_word(struct buf *out, const char *word);

/* Shell text for a command, read by the inner shell only, which has the whole environment. Markers
 * stay live: this is the one place for "1><LOG_DIR>/stdout". */
int quote_script(struct buf *out, const char *script);

/* The value of a variable, exactly as it is. */
int quote_value(struct buf *out, const char *value);

/* The value of a variable in which markers and $NAME stay live: "{{PWD}}/lib:$PATH". */
int quote_live_value(struct buf *out, const char *value);
