/* token_renewal.h - newer delegation tokens for a job that lives longer than those it was
 * submitted with, from the client that stays with it.
 *
 *     submit ──3/4 of the tokens' life──► get others ──► PUT /v1/tokens ──► master ──► agents
 *                                             ▲ half the time they are good   │
 *                                             └───────────────────────────────┘
 *
 * The first ones are renewed by the ResourceManager, up to their last day; it knows nothing of
 * later ones. Agents that lose their master use the tokens they have to find the next one, so
 * these must stay valid for a while. A failure is reported to the user and retried. Fibers only. */
#pragma once
#include "client/job_call.h"
#include "job/spec/spec.h"

struct renew; /* opaque */

/* For the job of `x`, which was just submitted. Both are borrowed. NULL when there is nothing to
 * do: no Kerberos, no YARN. Contacts nobody. */
struct renew *renew_start(struct job_call *x, const struct spec *s);
/* There is another master, which knows only the first tokens. NULL is fine. */
void renew_again(struct renew *r);
struct renew *renew_stop(struct renew *r); /* NULL is fine; always NULL */
