/* serve_fetching.c - see serve_fetching.h. */
#include "cmd/serve/serve_fetching.h"
#include "cmd/serve/serve_call.h"
#include "serve/deployment/deployment_fetch.h"
#include "terminal/format.h"

#include <stdio.h>

#define LOOK_MS 1000 /* the deployment's report is as old */
#define TELL_MS 5000

static void fetching_tell(const json_t *rows)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        AUTO_FREE char *text = deployment_fetch_text(row);

        fprintf(stderr, "ydl: replica %s is %s\n", format_text(row, "replica"), text ? text : "?");
    }
}

bool serve_fetching_moves(struct job_call *x, struct serve_fetching *f)
{
    int64_t now = loop_now(x->loop), done;
    AUTO_JSON *report = f->looked && now - f->looked < LOOK_MS ? NULL : serve_report(x, 0);
    const json_t *rows = json_object_get(report, "fetching");

    if (!report)
        return false;
    f->looked = now;
    done = deployment_fetch_done(rows, NULL);
    if (done == f->done)
        return false;
    f->done = done;
    if (!x->globals->quiet && (!f->told || now - f->told >= TELL_MS)) {
        f->told = now;
        fetching_tell(rows);
    }
    return true;
}
