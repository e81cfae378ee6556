/* hdfs.c - opening a name service, and what the NameNode says of itself. See hdfs.h. */
#include "hadoop/hdfs/hdfs.h"
#include "base/str.h"
#include "hadoop/hdfs/private.h"
#include "hadoop/token/ident.h"
#include "hadoop/token/token_service.h"
#include "loop/resolve.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define RESOLVE_MS 20000

/* The lease of every open file belongs to this name. It must be another one for each process, or
 * the files of one that died would be kept alive by the renewals of the other. */
static int make_client_name(struct hdfs *fs, struct err *err)
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return err_sys(err, "random number");
    snprintf(fs->client_name, sizeof(fs->client_name), "DFSClient_ydl_%016llx",
             (unsigned long long)random);
    return 0;
}

/* The session's token under one service name, which is freed. `r` is how making the name went. */
static int hdfs_look_up(struct hdfs *fs, int r, char *service, const struct token **ret,
                        struct err *err)
{
    if (r < 0)
        return err_code(err, r, "the service of a token");
    *ret = credentials_find(session_credentials(fs->session), KIND_HDFS, service);
    free(service);
    return 0;
}

/* By the addresses of the only NameNode, for that is what Java programs write into tokens. */
static int find_by_address(struct hdfs *fs, const struct token **ret, struct err *err)
{
    const struct host *h = &fs->hosts.v[0];
    struct resolve_addrs addrs = { .n = 0 };
    int r = resolve_host(fs->loop, h->host, h->port, loop_in(fs->loop, RESOLVE_MS), &addrs, err);

    for (int i = 0; i < addrs.n && r == 0 && !*ret; i++) {
        char ip[INET6_ADDRSTRLEN], *service = NULL;

        r = token_service_ip(resolve_text(&addrs.v[i], ip), h->port, &service);
        r = hdfs_look_up(fs, r, service, ret, err);
    }
    return r;
}

/* Three ways in which the service of a token for one NameNode may have been written: by its name
 * service, its host name, or its address. The first two need no look-up. */
int hdfs_find_token(struct hdfs *fs, const struct token **ret, struct err *err)
{
    const struct host *h = &fs->hosts.v[0];
    char *service = NULL;
    int r;

    *ret = NULL;
    if (!credentials_find(session_credentials(fs->session), KIND_HDFS, NULL))
        return 0;
    if (fs->hosts.ha_name) {
        r = token_service_ha(fs->hosts.ha_name, &service);
        return hdfs_look_up(fs, r, service, ret, err);
    }
    r = token_service_name(h->host, h->port, &service);
    r = hdfs_look_up(fs, r, service, ret, err);
    return r < 0 || *ret ? r : find_by_address(fs, ret, err);
}

static int hdfs_fill(struct hdfs *fs, const char *authority, struct err *err)
{
    const struct conf *conf = session_conf(fs->session);
    const struct token *token = NULL;
    int r;

    fs->authority = strdup(authority);
    if (!fs->authority)
        return err_oom(err);
    r = make_client_name(fs, err);
    if (r == 0)
        r = hdfs_settings_read(conf, &fs->settings, err);
    if (r == 0)
        r = conf_namenodes(conf, authority, &fs->hosts, err);
    if (r == 0)
        r = hdfs_find_token(fs, &token, err);
    if (r == 0)
        r = session_service(fs->session, &nn_protocol, &fs->hosts, token, &fs->nn, err);
    return r;
}

int hdfs_open(struct session *session, const char *authority, struct hdfs **ret, struct err *err)
{
    struct hdfs *fs = calloc(1, sizeof(*fs));
    int r;

    if (!fs)
        return err_oom(err);
    fs->session = session;
    fs->loop = session_loop(session);
    r = hdfs_fill(fs, authority, err);
    if (r < 0) {
        hdfs_close(fs);
        return err_wrap(err, r, "hdfs://%s", authority);
    }
    *ret = fs;
    return 0;
}

struct hdfs *hdfs_close(struct hdfs *fs)
{
    if (!fs)
        return NULL;
    hdfs_lease_stop(fs);
    datanode_drop_idle(fs);
    rpc_service_free(fs->nn);
    rpc_free(fs->defaults);
    rpc_free(fs->transfer);
    hosts_done(&fs->hosts);
    free(fs->authority);
    free(fs);
    return NULL;
}

int hdfs_take_token(struct hdfs *fs, struct err *err)
{
    const struct token *token = NULL;
    int r = hdfs_find_token(fs, &token, err);

    return r < 0 || !token ? r : rpc_service_set_token(fs->nn, token, err);
}

const char *hdfs_authority(const struct hdfs *fs)
{
    return fs->authority;
}

struct rpc_service *hdfs_namenode(struct hdfs *fs)
{
    return fs->nn;
}

int hdfs_defaults(struct hdfs *fs, const Hdfs__FsServerDefaults **ret, struct err *err)
{
    Hdfs__GetServerDefaultsRequest request = HDFS__GET_SERVER_DEFAULTS_REQUEST__INIT;
    Hdfs__GetServerDefaultsResponse *answer = NULL;
    int r;

    if (!fs->defaults) {
        r = nn_call(fs->nn, NN_GET_SERVER_DEFAULTS, &request, &answer, err);
        if (r < 0)
            return err_wrap(err, r, "ask for the defaults of hdfs://%s", fs->authority);
        if (fs->defaults)
            rpc_free(answer); /* another fiber was faster; somebody may hold its answer */
        else
            fs->defaults = answer;
    }
    *ret = fs->defaults->defaults;
    return 0;
}
