/* models_output.c - what a job has published already. See models_output() in models.h.
 *
 * A job's master may have ended after the rename and before it could tell: the next one asks here
 * before it publishes. Newest versions first, and none from before the job: one directory, and one
 * manifest as a rule. */
#include "base/str.h"
#include "model/models.h"

#define CLOCKS_MS ((int64_t)24 * 3600 * 1000) /* how much two clocks may differ */

static bool output_is(const struct manifest *m, const char *job)
{
    return str_eq(json_string_value(json_object_get(m->doc, "job")), job) &&
           json_is_true(json_object_get(m->doc, "output"));
}

/* One that cannot be read or understood is nobody's output. */
static bool output_passes(int r)
{
    return r == -EBADMSG || r == -EPROTONOSUPPORT || r == -EACCES || r == -EPERM;
}

struct output_query {
    const struct models *r;
    const char *name, *job;
    int64_t since_ms;
};

/* 1: found, 0: go on, 2: older than the job. */
static int output_look(const struct output_query *q, int64_t version, struct manifest *ret,
                       struct err *err)
{
    AUTO_MANIFEST m = { 0 };
    int x = models_manifest(q->r, q->name, version, &m, err);

    if (output_passes(x)) {
        err_clear(err);
        return 0;
    }
    if (x <= 0)
        return x;
    if (!output_is(&m, q->job))
        return m.created_ms < q->since_ms - CLOCKS_MS ? 2 : 0;
    *ret = m;
    m = (struct manifest){ 0 };
    return 1;
}

int models_output(const struct models *r, const char *name, const char *job, int64_t since_ms,
                  struct manifest *ret, struct err *err)
{
    const struct output_query q = { r, name, job, since_ms };
    AUTO_VERSION_LIST all = { 0 };
    int x = models_versions(r, name, &all, err);

    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    for (size_t i = all.n; x == 0 && i > 0; i--)
        x = output_look(&q, all.v[i - 1], ret, err);
    return x == 2 ? 0 : x;
}
