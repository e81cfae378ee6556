/* short_runs.c - see short_runs.h. A run that took far too long counts as if all had: a neighbour
 * that took the processor away for a moment makes a run long, but hardly so long. */
#include "serve/engine/short_runs.h"

#define RUNS_KNOWN 32 /* so many before anything is said */
#define LONGS_MAX 3   /* of 64: one in twenty */
#define FAR_TOO_LONG_NS (10 * SHORT_RUN_NS)
#define SURPRISE_NS (500 * SHORT_RUN_NS) /* a neighbour hardly takes so long, whoever it is */
#define WARY_RUNS 1024                   /* after the first surprise */
#define SURPRISES_MAX 14                 /* … and at most 16 million */

static unsigned class_of(uint64_t bytes)
{
    return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

void short_runs_add(struct short_runs *s, uint64_t bytes, int64_t ns)
{
    struct short_runs_class *c = &s->classes[class_of(bytes)];

    if (ns > SURPRISE_NS && short_runs_expected(s, bytes)) {
        s->wary = (uint64_t)WARY_RUNS << s->surprises;
        s->surprises += s->surprises < SURPRISES_MAX;
    } else if (s->wary > 0) {
        s->wary--;
    }
    c->longs = ns > FAR_TOO_LONG_NS ? UINT64_MAX : c->longs << 1 | (ns > SHORT_RUN_NS);
    c->seen += c->seen < RUNS_KNOWN;
}

bool short_runs_expected(const struct short_runs *s, uint64_t bytes)
{
    const struct short_runs_class *c = &s->classes[class_of(bytes)];

    return s->wary == 0 && c->seen >= RUNS_KNOWN && __builtin_popcountll(c->longs) <= LONGS_MAX;
}
