/* settings.c - reads what the client needs from the configuration. What nobody has set stays
 * unset here, because the NameNode's own default counts then. See settings.h. */
#include "hadoop/hdfs/settings.h"
#include "base/str.h"
#include "hadoop/conf/conf_services.h"
#include "hadoop/sasl/sasl.h"

#include <string.h>
#include <strings.h>

#define FOREVER_MS 480000
#define REPLACE "dfs.client.block.write.replace-datanode-on-failure"

/* ---- umask ---- */

static int hdfs_parse_octal(const char *text, uint32_t *ret)
{
    uint32_t v = 0;

    for (; *text; text++) {
        if (*text < '0' || *text > '7' || v > 07777)
            return -EINVAL;
        v = v * 8 + (uint32_t)(*text - '0');
    }
    *ret = v & 0777;
    return 0;
}

/* One "u=rwx" of a list: whom it is for, and what stays. Unlike the octal form, which names the
 * bits to take away, this one names those that are left. */
static int hdfs_parse_clause(const char *s, uint32_t *kept)
{
    uint32_t who = 0, bits = 0;

    for (; *s && *s != '='; s++) {
        if (!strchr("ugoa", *s))
            return -EINVAL;
        who |= *s == 'u' ? 0700 : *s == 'g' ? 0070 : *s == 'o' ? 0007 : 0777;
    }
    if (*s++ != '=')
        return -EINVAL;
    for (; *s; s++) {
        if (!strchr("rwx", *s))
            return -EINVAL;
        bits |= *s == 'r' ? 0444 : *s == 'w' ? 0222 : 0111;
    }
    *kept = (*kept & ~(who ? who : 0777u)) | (bits & (who ? who : 0777u));
    return 0;
}

int hdfs_umask_parse(const char *text, uint32_t *ret)
{
    AUTO_STRS clauses = { 0 };
    uint32_t kept = 0;
    int r;

    if (*text >= '0' && *text <= '7')
        return hdfs_parse_octal(text, ret);
    r = strs_split(&clauses, text, ",");
    if (r < 0)
        return r;
    for (size_t i = 0; i < clauses.n; i++) {
        r = hdfs_parse_clause(clauses.v[i], &kept);
        if (r < 0)
            return r;
    }
    *ret = ~kept & 0777;
    return clauses.n > 0 ? 0 : -EINVAL;
}

/* ---- the keys ---- */

/* A value of this range, as an int. */
static int small(const struct conf *c, const char *key, int *ret, struct err *err)
{
    int64_t v;
    int r = conf_int(c, key, &v, err);

    if (r < 0)
        return r;
    *ret = v < 0 ? 0 : v > 1000 ? 1000 : (int)v;
    return 0;
}

/* Only what somebody has set: a default of ours must not hide the server's. */
static int if_set(const struct conf *c, const char *key, uint64_t *ret, struct err *err)
{
    AUTO_STRS set = { 0 };
    int r = conf_keys(c, key, &set, err);

    *ret = 0;
    if (r < 0 || !strs_has(&set, key))
        return r;
    return conf_size(c, key, ret, err);
}

/* A time that is not 0: Hadoop's "wait forever" is not ours. */
static int some_ms(const struct conf *c, const char *key, int64_t *ret, struct err *err)
{
    int r = conf_ms(c, key, ret, err);

    if (r == 0 && *ret <= 0)
        *ret = FOREVER_MS;
    return r;
}

static int read_umask(const struct conf *c, uint32_t *ret, struct err *err)
{
    static const char key[] = "fs.permissions.umask-mode";
    AUTO_FREE char *text = NULL;
    int r = conf_str(c, key, &text, err);

    if (r < 0)
        return r;
    *ret = 022;
    if (!text || hdfs_umask_parse(text, ret) == 0)
        return 0;
    return conf_bad(c, key, text, "which is not a umask such as 022 or u=rwx,g=rx,o=", err);
}

static int read_replace(const struct conf *c, struct replace_policy *ret, struct err *err)
{
    AUTO_FREE char *policy = NULL;
    int64_t least = 0;
    bool enabled;
    int r = conf_bool(c, REPLACE ".enable", &enabled, err);

    if (r == 0)
        r = conf_str(c, REPLACE ".policy", &policy, err);
    if (r == 0)
        r = conf_bool(c, REPLACE ".best-effort", &ret->best_effort, err);
    if (r < 0)
        return r;
    r = conf_int(c, REPLACE ".min-replication", &least, NULL);
    ret->min_replication = r == 0 && least > 0 ? (uint32_t)least : 0;
    ret->when = REPLACE_DEFAULT;
    if (!enabled || (policy && strcasecmp(policy, "NEVER") == 0))
        ret->when = REPLACE_NEVER;
    else if (policy && strcasecmp(policy, "ALWAYS") == 0)
        ret->when = REPLACE_ALWAYS;
    else if (policy && strcasecmp(policy, "DEFAULT") != 0)
        return conf_bad(c, REPLACE ".policy", policy, "which is not NEVER, DEFAULT or ALWAYS", err);
    return 0;
}

/* Without dfs.data.transfer.protection no bit is set, which guard_choose() reads as "not
 * configured". */
static int read_security(const struct conf *c, struct hdfs_settings *ret, struct err *err)
{
    struct security s;
    int r = conf_security(c, &s, err);

    if (r < 0)
        return r;
    ret->secure = s.kerberos;
    for (int i = 0; i < s.data.n; i++)
        ret->qops |= SASL_QOP_BIT(s.data.v[i] == PROTECT_PRIVACY     ? SASL_CONF
                                  : s.data.v[i] == PROTECT_INTEGRITY ? SASL_INT
                                                                     : SASL_AUTH);
    return 0;
}

int hdfs_settings_read(const struct conf *conf, struct hdfs_settings *ret, struct err *err)
{
    uint64_t replication = 0;
    int r;

    *ret = (struct hdfs_settings){ 0 };
    r = read_security(conf, ret, err);
    if (r == 0)
        r = conf_bool(conf, "dfs.client.use.datanode.hostname", &ret->use_hostname, err);
    if (r == 0)
        r = some_ms(conf, "dfs.client.socket-timeout", &ret->read_ms, err);
    if (r == 0)
        r = some_ms(conf, "dfs.datanode.socket.write.timeout", &ret->write_ms, err);
    if (r == 0)
        r = conf_ms(conf, "dfs.client.datanode-restart.timeout", &ret->restart_ms, err);
    if (r == 0)
        r = small(conf, "dfs.client.block.write.retries", &ret->block_retries, err);
    if (r == 0)
        r = small(conf, "dfs.client.max.block.acquire.failures", &ret->read_rounds, err);
    if (r == 0)
        r = conf_ms(conf, "dfs.client.retry.window.base", &ret->window_ms, err);
    if (r == 0)
        r = read_umask(conf, &ret->umask, err);
    if (r == 0)
        r = read_replace(conf, &ret->replace, err);
    if (r == 0)
        r = if_set(conf, "dfs.replication", &replication, err);
    if (r == 0)
        r = if_set(conf, "dfs.blocksize", &ret->block_size, err);
    if (r < 0)
        return r;
    ret->replication = (uint32_t)(replication < PACKET_NODES_MAX ? replication : PACKET_NODES_MAX);
    ret->connect_ms = ret->read_ms;
    return 0;
}
