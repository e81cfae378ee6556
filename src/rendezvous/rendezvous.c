/* rendezvous.c - the servers through which workers of older frameworks find each other: a table of
 * them, and what all have in common. The master starts those that the job's framework needs. See
 * rendezvous.h. */
#include "rendezvous/rendezvous.h"
#include "rendezvous/servers.h"

#include "base/auto.h"

#define WORLD_MAX 1000000

struct rendezvous {
    const struct server_row *row;
    void *server;
    int port;
};

static const struct server_row *const rows[] = { &server_rabit, &server_xgboost, &server_horovod,
                                                 &server_slider };

static const struct server_row *rendezvous_find_row(unsigned bit)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i]->bit == bit)
            return rows[i];
    }
    return NULL;
}

int rendezvous_start(unsigned server, const struct rendezvous_options *opt, struct rendezvous **ret,
                     struct err *err)
{
    const struct server_row *row = rendezvous_find_row(server);
    AUTO_FREE struct rendezvous *r = calloc(1, sizeof(*r));
    int code;

    if (!r)
        return err_oom(err);
    if (!row)
        return err_set(err, -EINVAL, "there is no rendezvous server %u", server);
    /* One that lasts waits for nobody: who there is may change while it runs. */
    if (!row->lasts && (opt->world < 1 || opt->world > WORLD_MAX))
        return err_set(err, -EINVAL, "%u is not a valid number of workers", opt->world);
    r->row = row;
    code = row->start(opt, &r->server, &r->port, err);
    if (code < 0)
        return err_wrap(err, code, "%s server", row->name);
    *ret = take(r);
    return 0;
}

int rendezvous_port(const struct rendezvous *r)
{
    return r->port;
}

bool rendezvous_lasts(unsigned server)
{
    const struct server_row *row = rendezvous_find_row(server);

    return row && row->lasts;
}

struct rendezvous *rendezvous_free(struct rendezvous *r)
{
    if (!r)
        return NULL;
    r->row->stop(r->server);
    free(r);
    return NULL;
}
