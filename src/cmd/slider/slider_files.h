/* slider_files.h - JSON files as people write them, and packages (a directory or a zip archive).
 * All of it blocks on the local disk. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"

#define SLIDER_FILE_MAX (4 * MIB)

/* What is wrong in a file is CLI_USAGE: "FILE:LINE:COLUMN: …", and in `excerpt` that line with a
 * mark below the place. */
int slider_parse(const char *name, const struct buf *text, struct buf *excerpt, json_t **ret,
                 struct err *err);

/* A package: a directory, or a zip archive. */
struct slider_package {
    char *path;
    struct unzip *zip; /* NULL: a directory */
};
int slider_package_open(struct slider_package *p, const char *path, struct err *err);
void slider_package_done(struct slider_package *p); /* zero is fine */
bool slider_package_has(const struct slider_package *p, const char *name);

/* A JSON file that an option names: here, or else in the package (may be NULL), as the text's own
 * command names them. CLI_USAGE when it is in neither. */
int slider_file(const char *path, struct slider_package *p, struct buf *excerpt, json_t **ret,
                struct err *err);
