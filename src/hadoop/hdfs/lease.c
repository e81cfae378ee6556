/* lease.c - tells the NameNode that the writers of files are alive. One fiber for all of them; the
 * NameNode lets others take a file after a minute of silence, so twice a minute is enough, with
 * tries that fail repeated sooner. See private.h. */
#include "base/log.h"
#include "hadoop/hdfs/private.h"

#define RENEW_MS 30000
#define RETRY_MS 2000

static int hdfs_lease_renew(struct hdfs *fs)
{
    Hdfs__RenewLeaseRequest request = HDFS__RENEW_LEASE_REQUEST__INIT;
    AUTO_RPC Hdfs__RenewLeaseResponse *answer = NULL;
    struct err err = ERR_INIT;
    int r;

    request.client_name = fs->client_name;
    r = nn_call(fs->nn, NN_RENEW_LEASE, &request, &answer, &err);
    if (r < 0)
        trace(LOG_HDFS, "renew the lease: %s, ignoring", err.text);
    return r;
}

static void hdfs_lease_run(void *arg)
{
    struct hdfs *fs = arg;
    int64_t next = loop_in(fs->loop, RENEW_MS);

    while (fs->writers > 0 && !fs->closing) {
        int r = cond_wait(fs->loop, &fs->lease, next);

        if (r == -ECANCELED)
            break;
        if (r == -ETIMEDOUT)
            next = loop_in(fs->loop, hdfs_lease_renew(fs) < 0 ? RETRY_MS : RENEW_MS);
    }
    fs->renewer = NULL;
    cond_wake_all(&fs->lease);
}

/* The lease belongs to the client's name, not to a file, so one renewal serves all open writers. */
int hdfs_lease_hold(struct hdfs *fs, struct err *err)
{
    fs->writers++;
    if (fs->renewer)
        return 0;
    if (fiber_start(fs->loop, hdfs_lease_run, fs, &fs->renewer, err) == 0)
        return 0;
    fs->writers--;
    return err ? err->code : -ENOMEM;
}

/* The fiber is left for a while: the next file often follows at once. */
void hdfs_lease_drop(struct hdfs *fs)
{
    fs->writers--;
}

void hdfs_lease_stop(struct hdfs *fs)
{
    fs->closing = true;
    if (!fs->renewer)
        return;
    fiber_cancel(fs->renewer);
    fiber_shield(fs->loop, true);
    while (fs->renewer)
        (void)cond_wait(fs->loop, &fs->lease, LOOP_NEVER);
    fiber_shield(fs->loop, false);
}
