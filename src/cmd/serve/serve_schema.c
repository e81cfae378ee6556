/* serve_schema.c - `ydl serve schema`: the JSON Schema of a deployment's file. */
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_file.h"

#include <stdio.h>

static int serve_schema_run(struct cli *c, struct err *err)
{
    AUTO_JSON *schema = NULL;
    int r = serve_file_schema(&schema, err);

    (void)c;
    return r < 0 ? r : json_print(stdout, schema, err);
}

/* clang-format off */
const struct cli_verb verb_serve_schema = {
    .name = "schema", .summary = "print the JSON Schema of a deployment's file",
    .run = serve_schema_run, .lacks = GLOBALS_CLUSTER,
    .text = "Prints a JSON Schema with which editors complete and check the files of 'ydl serve deploy "
            "-f'.",
    CLI_EXAMPLES({ "ydl serve schema > ydl-serve.schema.json", "let an editor check them" }),
};
/* clang-format on */
