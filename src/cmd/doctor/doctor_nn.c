/* doctor_nn.c - the NameNodes of the default file system, and how HDFS is. */
#include "cmd/doctor/doctor_nn.h"
#include "cmd/doctor/doctor_probe.h"
#include "hadoop/conf/conf_path.h"

#define FULL_PERCENT 95

/* Its addresses; -EOPNOTSUPP when the default file system is not HDFS. *ret is the caller's. */
static int nn_default_hosts(const struct doctor *d, struct hosts *ret, struct err *err)
{
    AUTO_FS_PATH home = { 0 };
    const struct session *s = d->x->session;
    /* Not "/", which on viewfs is nobody's but the mount table's. */
    int r = conf_path(session_conf(s), ".", session_user(s), &home, err);

    if (r < 0)
        return r;
    if (!str_eq(home.scheme, "hdfs"))
        return err_set(err, -EOPNOTSUPP, "the default file system is not HDFS");
    return conf_namenodes(session_conf(s), home.authority, ret, err);
}

int nn_default_service(const struct doctor *d, struct rpc_service **ret, struct err *err)
{
    AUTO_HOSTS hosts = { 0 };
    int r = nn_default_hosts(d, &hosts, err);

    return r < 0 ? r : session_service(d->x->session, &nn_protocol, &hosts, NULL, ret, err);
}

void check_nn(struct doctor *d)
{
    Hdfs__GetFsStatsRequest request = HDFS__GET_FS_STATS_REQUEST__INIT;
    struct probe p = { .protocol = &nn_protocol,
                       .method = nn_row(NN_GET_FS_STATS),
                       .request = &request };
    AUTO_HOSTS hosts = { 0 };
    struct err err = ERR_INIT;
    int r = nn_default_hosts(d, &hosts, &err);

    if (r == -EOPNOTSUPP) /* check_conf has warned of it */
        return;
    if (r < 0) {
        doctor_error(d, LEVEL_FAILED, r, &err, NULL);
        return;
    }
    if (probe_hosts(d, &p, &hosts))
        d->have |= NEED_NN | NEED_HDFS;
}

static void say_space(struct doctor *d, const Hdfs__GetFsStatsResponse *s)
{
    char remaining[STR_SIZE_MAX], capacity[STR_SIZE_MAX];
    bool full = s->capacity == 0 || s->remaining < s->capacity / 100 * (100 - FULL_PERCENT);

    str_size(s->remaining, remaining);
    str_size(s->capacity, capacity);
    if (s->capacity == 0)
        doctor_say(d, LEVEL_FAILED, "are the DataNodes running?", "HDFS has no DataNode");
    else if (full)
        doctor_say(d, LEVEL_WARNING, "delete what is not needed; show what is big: ydl fs du -h /",
                   "only %s of %s are free", remaining, capacity);
    else
        doctor_say(d, LEVEL_OK, NULL, "%s of %s are free", remaining, capacity);
    if (s->missing_blocks)
        doctor_say(d, LEVEL_WARNING, "ask the administrator to run 'hdfs fsck /'",
                   "%llu blocks are missing: some files cannot be read",
                   (unsigned long long)s->missing_blocks);
}

static void check_safe_mode(struct doctor *d, struct rpc_service *nn)
{
    Hdfs__SetSafeModeRequest request = HDFS__SET_SAFE_MODE_REQUEST__INIT;
    AUTO_RPC Hdfs__SetSafeModeResponse *answer = NULL;
    struct err err = ERR_INIT;
    int r;

    request.action = HDFS__SAFE_MODE_ACTION__SAFE_MODE_GET;
    r = nn_call(nn, NN_SET_SAFE_MODE, &request, &answer, &err);
    if (r < 0)
        doctor_error(d, LEVEL_WARNING, r, &err, NULL);
    else if (answer->on)
        doctor_say(
            d, LEVEL_FAILED,
            "it ends when enough DataNodes have reported, or with 'hdfs dfsadmin -safemode leave'",
            "the NameNode is in safe mode: nothing can be written");
}

void check_space(struct doctor *d)
{
    Hdfs__GetFsStatsRequest request = HDFS__GET_FS_STATS_REQUEST__INIT;
    AUTO_RPC Hdfs__GetFsStatsResponse *answer = NULL;
    AUTO_RPC_SERVICE *nn = NULL;
    struct err err = ERR_INIT;
    int r = nn_default_service(d, &nn, &err);

    if (r == 0)
        r = nn_call(nn, NN_GET_FS_STATS, &request, &answer, &err);
    if (r == 0) {
        say_space(d, answer);
        check_safe_mode(d, nn);
    } else {
        doctor_error(d, LEVEL_FAILED, r, &err, NULL);
    }
}
