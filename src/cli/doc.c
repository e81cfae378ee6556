/* doc.c - a JSON document that is written while its list is being made: the beginning with the
 * first element, the errors behind the last. See doc.h. */
#include "cli/doc.h"
#include "cli/exit.h"

void doc_begin(struct doc *d, bool on, const char *list)
{
    *d = (struct doc){ .on = on, .list = list };
}

static void open_list(struct doc *d)
{
    if (!d->open)
        printf("{\"%s\":[", d->list);
    d->open = true;
}

static int doc_put(const json_t *v, struct err *err)
{
    if (json_dumpf(v, stdout, JSON_COMPACT | JSON_ENCODE_ANY) < 0)
        return ferror(stdout) ? err_sys(err, "write to standard output") : err_oom(err);
    return 0;
}

int doc_add(struct doc *d, json_t *v, struct err *err)
{
    AUTO_JSON *owned = v;

    if (!owned)
        return err_oom(err);
    open_list(d);
    fputs(d->n++ ? ",\n" : "\n", stdout); /* a line for each: people look at it too */
    return doc_put(owned, err);
}

void doc_error(struct doc *d, const char *operand, int result, const struct err *err)
{
    json_t *v;

    if (!d->on)
        return;
    v = exit_json(result, err);
    if (v && operand)
        (void)json_object_set_new(v, "operand", json_text(operand));
    if (!d->errors)
        d->errors = json_array();
    (void)json_array_append_new(d->errors, v); /* standard error has said it already */
}

int doc_end(struct doc *d, struct err *err)
{
    AUTO_JSON *errors = take(d->errors);
    int r = 0;

    if (!d->on)
        return 0;
    open_list(d);
    fputs(d->n ? "\n],\"errors\":" : "],\"errors\":", stdout);
    if (errors)
        r = doc_put(errors, err);
    else
        fputs("[]", stdout);
    fputs("}\n", stdout);
    return r;
}
