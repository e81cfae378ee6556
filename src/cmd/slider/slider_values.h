/* slider_values.h - ${…} in the values of an application, and texts that have variables of ydl in
 * them. Pure. */
#pragma once
#include "cmd/slider/slider_model.h"

#define SLIDER_PORTS_MAX 4 /* of a task */

/* What is known before anything runs; all borrowed, NULL: not known. */
struct slider_facts {
    const char *user, *fs_uri, *zk_hosts, *zk_path;
};

/* Variables of ydl stand between these in values, until it is known how to write them there. */
#define SLIDER_VAR_BEGIN '\x01'
#define SLIDER_VAR_END '\x02'

struct slider_tokens {
    const struct slider_model *model;
    const struct slider_component *component;
    const struct slider_facts *facts;
    unsigned ports[SLIDER_COMPONENTS_MAX]; /* of each component: counts up as values are resolved */
    bool preferred;                        /* a port was named that nobody can be sure of */
};

/* A value of appConfig with its tokens resolved. What only a task knows (AGENT_WORK_ROOT …) stays.
 * 0, CLI_USAGE or -ENOMEM. */
int slider_resolve(struct slider_tokens *t, const char *value, struct buf *out, struct err *err);
/* The text of an export: ${COMPONENT_HOST}, ${site.DICT.KEY}, from `dicts` {"DICT": {"KEY": …}}. */
int slider_resolve_export(const struct slider_tokens *t, const json_t *dicts, const char *value,
                          struct buf *out, struct err *err);

/* Text with variables between marks, as the value of a job's key: braces that are the user's own
 * stay what they are. */
int slider_write_text(const char *marked, struct buf *out);
/* The same for a document whose texts have marks: JSON in which no brace of a text can be taken
 * for a variable. */
int slider_write_json(const json_t *marked, struct buf *out);
