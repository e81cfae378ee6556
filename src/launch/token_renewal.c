/* token_renewal.c - one fiber sleeps until three quarters of the tokens' life are over, gets new
 * ones and hands them to whichever master answers; a failure is told once and tried again more
 * often. See token_renewal.h. */
#include "launch/token_renewal.h"
#include "base/log.h"
#include "client/client_private.h"
#include "launch/job_submission.h"
#include "launch/submit_tokens.h"
#include "loop/fiber.h"

#define TRY_AGAIN_MS 60000 /* at most; less where tokens live shortly */
#define TRY_SOON_MS 1000

struct renew {
    struct job_call *x;
    const struct spec *spec;
    struct loop *loop;
    struct buf tokens; /* the newest, as a file */
    int64_t due;       /* when the next ones are to be got */
    int64_t span;      /* how long the present ones are good */
    bool sent;         /* the master has them */
    bool told;         /* people know that something is wrong */
    bool stopping;
    struct fiber *fiber;
    struct cond changed;
};

static void set_span(struct renew *r, int64_t ms, int64_t due)
{
    r->span = ms;
    r->due = loop_in(r->loop, due);
}

/* ---- getting ---- */

static int find_places(struct renew *r, struct strs *ret, struct err *err)
{
    AUTO_FS_SET *set = NULL;
    AUTO_FREE char *base = NULL;
    int result = fs_set_new(r->loop, r->x->net.session, &set, err);

    if (result == 0)
        result = submit_base(set, r->spec->staging, &base, err);
    return result < 0 ? result : deploy_places(r->spec, base, ret, err);
}

/* From now on at half of their life: the first ones could be used for three quarters because the
 * ResourceManager renews them, and it does not know these. */
static int renew_get(struct renew *r, struct err *err)
{
    AUTO_CREDENTIALS *c = NULL;
    AUTO_STRS places = { 0 };
    int64_t ms = 0;
    int result = credentials_new(&c, err);

    if (result == 0)
        result = find_places(r, &places, err);
    if (result == 0)
        result = deploy_tokens_again(r->x->net.session, &places, c, &ms, err);
    if (result < 0)
        return result;
    if (ms <= 0)
        return err_set(err, -ENODATA, "the NameNode issued no token");
    buf_wipe(&r->tokens);
    result = credentials_write(c, &r->tokens, err);
    if (result < 0)
        return result;
    r->sent = false;
    set_span(r, ms, ms / 2);
    return 0;
}

/* ---- handing over ---- */

static int renew_hand_over(struct renew *r, struct err *err)
{
    int result;

    r->sent = true; /* unless another master comes while we wait */
    result = client_put_now(r->x->client, "/v1/tokens", r->tokens.data, r->tokens.len, err);
    if (result < 0)
        r->sent = false;
    else
        trace(LOG_MAIN, "the job has newer tokens");
    return result;
}

static int renew_step(struct renew *r, struct err *err)
{
    int result = loop_now(r->loop) >= r->due ? renew_get(r, err) : 0;

    if (result < 0)
        return err_wrap(err, result, "get new tokens for the job");
    return r->tokens.len > 0 && !r->sent ? renew_hand_over(r, err) : 0;
}

/* ---- the fiber ---- */

/* That a master is away is reported elsewhere, and it may be back in time. */
static void renew_tell(struct renew *r, int result, const struct err *err)
{
    if (client_broken(result) || r->told)
        return;
    r->told = true;
    client_say(r->x->client, "%s%s%s", err->text, *err->hint ? "; " : "", err->hint);
}

static int64_t renew_pause_of(const struct renew *r)
{
    int64_t ms = r->span / 32;

    return ms < TRY_SOON_MS ? TRY_SOON_MS : ms > TRY_AGAIN_MS ? TRY_AGAIN_MS : ms;
}

/* The client may be between two masters when tokens are due: they are got all the same, and
 * renew_again() has them handed to the next one. */
static void renew_run(void *arg)
{
    struct renew *r = arg;
    int result = 0;

    while (!r->stopping && result != -ECANCELED) {
        struct err err = ERR_INIT;

        result = renew_step(r, &err);
        if (result == 0)
            r->told = false;
        else if (result != -ECANCELED)
            renew_tell(r, result, &err);
        if (result != -ECANCELED && !r->stopping)
            result = cond_wait(r->loop, &r->changed,
                               result < 0 ? loop_in(r->loop, renew_pause_of(r)) : r->due);
    }
    r->fiber = NULL;
    cond_wake_all(&r->changed);
}

struct renew *renew_start(struct job_call *x, const struct spec *s)
{
    struct renew *r;

    if (!x->client || x->tokens_ms <= 0)
        return NULL;
    r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    *r = (struct renew){ .x = x, .spec = s, .loop = x->loop, .tokens = { .max = MIB } };
    set_span(r, x->tokens_ms, x->tokens_ms / 4 * 3);
    if (fiber_start(r->loop, renew_run, r, &r->fiber, NULL) < 0)
        return renew_stop(r);
    return r;
}

void renew_again(struct renew *r)
{
    if (!r)
        return;
    r->sent = false;
    cond_wake_all(&r->changed);
}

struct renew *renew_stop(struct renew *r)
{
    if (!r)
        return NULL;
    r->stopping = true;
    fiber_shield(r->loop, true);
    if (r->fiber)
        fiber_cancel(r->fiber);
    while (r->fiber)
        (void)cond_wait(r->loop, &r->changed, LOOP_NEVER);
    fiber_shield(r->loop, false);
    buf_wipe(&r->tokens);
    buf_done(&r->tokens);
    free(r);
    return NULL;
}
