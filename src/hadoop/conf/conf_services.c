/* conf_services.c - reads lists of servers out of suffixed settings (KEY.NAMESERVICE.ID), with
 * the fallbacks that Hadoop has for each suffix that is missing. See conf_services.h. */
#include "hadoop/conf/conf_services.h"
#include "base/array.h"
#include "hadoop/conf/address.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static void host_done(struct host *h)
{
    free(h->id);
    free(h->host);
    free(h->principal);
    free(h->pattern);
}

void hosts_done(struct hosts *h)
{
    for (size_t i = 0; i < h->n; i++)
        host_done(&h->v[i]);
    free(h->v);
    free(h->ha_name);
    *h = (struct hosts){ 0 };
}

static void lower(char *s)
{
    for (; *s; s++)
        *s = (char)tolower((unsigned char)*s);
}

/* "nn/_HOST@REALM" is one setting for all servers: the name of each goes into it, in lower case as
 * with Java. In any other place _HOST means itself. */
int conf_principal(const char *principal, const char *host, char **ret)
{
    const char *slash = strchr(principal, '/'), *at = strrchr(principal, '@');
    char local[256] = "localhost";
    AUTO_FREE char *name = NULL;

    *ret = NULL;
    if (!slash || !at || at < slash || strncmp(slash, "/_HOST@", 7) != 0 || at != slash + 6) {
        *ret = strdup(principal);
        return *ret ? 0 : -ENOMEM;
    }
    /* A server that is configured as "every address" is this machine. */
    if (strcmp(host, "0.0.0.0") == 0 && gethostname(local, sizeof(local) - 1) == 0)
        host = local;
    name = strdup(host);
    if (!name)
        return -ENOMEM;
    lower(name);
    *ret = str_printf("%.*s/%s%s", (int)(slash - principal), principal, name, at);
    return *ret ? 0 : -ENOMEM;
}

/* A service whose servers are being collected. */
struct service {
    const struct conf *conf;
    const char *principal_key, *pattern_key;
    const char *name_service; /* its keys may end in it, "" for none */
    int port;                 /* where an address names none */
    struct hosts *out;
};

/* The value of KEY.NAMESERVICE.ID, KEY.NAMESERVICE or KEY, the first that is set; NULL if none. */
static int find_suffixed(const struct service *s, const char *key, const char *id, char **ret,
                         struct err *err)
{
    AUTO_FREE char *full = str_printf("%s.%s.%s", key, s->name_service, id);
    AUTO_FREE char *half = str_printf("%s.%s", key, s->name_service);
    int r = 0;

    *ret = NULL;
    if (!full || !half)
        return err_oom(err);
    if (*s->name_service && *id)
        r = conf_str(s->conf, full, ret, err);
    if (r == 0 && !*ret && *s->name_service)
        r = conf_str(s->conf, half, ret, err);
    if (r == 0 && !*ret)
        r = conf_str(s->conf, key, ret, err);
    return r;
}

static int set_identity(const struct service *s, struct host *h, struct err *err)
{
    AUTO_FREE char *principal = NULL;
    int r;

    r = find_suffixed(s, s->principal_key, h->id, &principal, err);
    if (r == 0)
        r = find_suffixed(s, s->pattern_key, h->id, &h->pattern, err);
    if (r < 0)
        return r;
    if (principal && *principal && conf_principal(principal, h->host, &h->principal) < 0)
        return err_oom(err);
    return 0;
}

static int conf_services_append(struct hosts *l, struct host *h, struct err *err)
{
    if (ARRAY_ADD(l->v, l->n, *h) < 0)
        return err_oom(err);
    *h = (struct host){ 0 };
    return 0;
}

/* The server `id` at `address`, which is what `key` says (for errors). */
static int conf_services_add_server(const struct service *s, const char *id, const char *key,
                                    const char *address, struct err *err)
{
    struct host h = { .id = strdup(id) };
    int r = h.id ? address_parse(address, s->port, &h.host, &h.port) : -ENOMEM;

    if (r == -EINVAL)
        r = conf_bad(s->conf, key, address, "not host:port", err);
    else if (r < 0)
        r = err_oom(err);
    if (r == 0 && h.host)
        r = set_identity(s, &h, err);
    if (r == 0)
        r = conf_services_append(s->out, &h, err);
    host_done(&h);
    return r;
}

static const struct {
    const char *key;
    int port;
} rm_ports[] = {
    [RM_CLIENT] = { "yarn.resourcemanager.address", 8032 },
    [RM_SCHEDULER] = { "yarn.resourcemanager.scheduler.address", 8030 },
    [RM_ADMIN] = { "yarn.resourcemanager.admin.address", 8033 },
    [RM_WEBAPP] = { "yarn.resourcemanager.webapp.address", 8088 },
    [RM_WEBAPP + 1] = { "yarn.resourcemanager.webapp.https.address", 8090 },
};

/* The ResourceManager `id`: its own address, or its host name with the usual port. */
static int add_rm(const struct service *s, const char *key, const char *id, struct err *err)
{
    AUTO_FREE char *address_key = str_printf("%s.%s", key, id);
    AUTO_FREE char *host_key = str_printf("yarn.resourcemanager.hostname.%s", id);
    AUTO_FREE char *address = NULL, *host = NULL;
    int r;

    if (!address_key || !host_key)
        return err_oom(err);
    r = conf_str(s->conf, address_key, &address, err);
    if (r == 0 && address)
        return conf_services_add_server(s, id, address_key, address, err);
    if (r == 0)
        r = conf_str(s->conf, host_key, &host, err);
    if (r == 0 && host)
        return conf_services_add_server(s, id, host_key, host, err);
    if (r == 0)
        r = err_set(err, -ENODATA,
                    "ResourceManager '%s' has no address: neither '%s' nor '%s' is set", id,
                    address_key, host_key);
    return r;
}

/* With HA every address has a suffix, and the order of the ids is the order in which they are
 * tried. */
static int add_rms(const struct service *s, const char *key, struct err *err)
{
    AUTO_FREE char *address = NULL;
    AUTO_STRS ids = { 0 };
    bool ha;
    int r;

    r = conf_bool(s->conf, "yarn.resourcemanager.ha.enabled", &ha, err);
    if (r < 0)
        return r;
    if (!ha) {
        r = conf_str(s->conf, key, &address, err);
        return r < 0 ? r : conf_services_add_server(s, "", key, address, err);
    }
    r = conf_list(s->conf, "yarn.resourcemanager.ha.rm-ids", &ids, err);
    if (r == 0 && ids.n == 0)
        r = err_set(err, -ENODATA,
                    "'yarn.resourcemanager.ha.enabled' is true, but "
                    "'yarn.resourcemanager.ha.rm-ids' names no ResourceManager");
    for (size_t i = 0; r == 0 && i < ids.n; i++)
        r = add_rm(s, key, ids.v[i], err);
    return r;
}

int conf_resourcemanagers(const struct conf *c, enum rm_port port, struct hosts *ret,
                          struct err *err)
{
    AUTO_HOSTS found = { 0 };
    AUTO_FREE char *policy = NULL;
    unsigned row = port;
    struct service s = {
        .conf = c,
        .principal_key = "yarn.resourcemanager.principal",
        .pattern_key = "yarn.resourcemanager.principal.pattern",
        .name_service = "",
        .out = &found,
    };
    int r;

    r = conf_str(c, "yarn.http.policy", &policy, err);
    if (r < 0)
        return r;
    if (port == RM_WEBAPP && strcasecmp(policy, "HTTPS_ONLY") == 0)
        row++;
    s.port = rm_ports[row].port;
    r = add_rms(&s, rm_ports[row].key, err);
    if (r < 0)
        return r;
    *ret = found;
    found = (struct hosts){ 0 };
    return 0;
}

/* Whether the one name stands for the NameNodes in tokens: Hadoop says so when a failover provider
 * is configured, unless it is one that moves an address around. */
static int set_ha_name(const struct service *s, struct err *err)
{
    AUTO_FREE char *key = str_printf("dfs.client.failover.proxy.provider.%s", s->name_service);
    AUTO_FREE char *provider = NULL;
    int r;

    if (!key)
        return err_oom(err);
    r = conf_str(s->conf, key, &provider, err);
    if (r < 0)
        return r;
    if (s->out->n < 2 && (!provider || strstr(provider, "IPFailover")))
        return 0;
    s->out->ha_name = strdup(s->name_service);
    return s->out->ha_name ? 0 : err_oom(err);
}

/* The NameNode `id` of a name service, "" for its only one. One without an address is left out,
 * as Hadoop does. */
static int add_namenode(const struct service *s, const char *id, struct err *err)
{
    AUTO_FREE char *key =
        str_printf("dfs.namenode.rpc-address.%s%s%s", s->name_service, *id ? "." : "", id);
    AUTO_FREE char *address = NULL;
    int r;

    if (!key)
        return err_oom(err);
    r = conf_str(s->conf, key, &address, err);
    if (r < 0 || !address)
        return r;
    return conf_services_add_server(s, id, key, address, err);
}

static int add_name_service(const struct service *s, const struct strs *ids, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ids->n; i++)
        r = add_namenode(s, ids->v[i], err);
    if (r == 0 && ids->n == 0)
        r = add_namenode(s, "", err);
    if (r == 0 && s->out->n == 0)
        r = err_set(err, -ENODATA,
                    "name service '%s' has no NameNode: no 'dfs.namenode.rpc-address.%s%s' is set",
                    s->name_service, s->name_service, ids->n ? ".…" : "");
    return r < 0 ? r : set_ha_name(s, err);
}

/* Whether the authority is a name service, and which NameNodes it lists. Being listed in
 * dfs.ha.namenodes is enough for us; Hadoop also wants it in dfs.nameservices. */
static int is_name_service(const struct conf *c, const char *name, struct strs *ret_ids,
                           struct err *err)
{
    AUTO_FREE char *key = str_printf("dfs.ha.namenodes.%s", name);
    AUTO_STRS known = { 0 };
    int r;

    if (!key)
        return err_oom(err);
    r = conf_list(c, key, ret_ids, err);
    if (r == 0)
        r = conf_list(c, "dfs.nameservices", &known, err);
    if (r == 0)
        r = conf_list(c, "dfs.internal.nameservices", &known, err);
    if (r < 0)
        return r;
    return ret_ids->n > 0 || strs_has(&known, name);
}

/* An authority can be a name service or a host; nothing in the name tells which, only whether the
 * configuration knows it. */
int conf_namenodes(const struct conf *c, const char *authority, struct hosts *ret, struct err *err)
{
    AUTO_HOSTS found = { 0 };
    AUTO_STRS ids = { 0 };
    struct service s = {
        .conf = c,
        .principal_key = "dfs.namenode.kerberos.principal",
        .pattern_key = "dfs.namenode.kerberos.principal.pattern",
        .name_service = authority,
        .port = 8020,
        .out = &found,
    };
    int r;

    r = is_name_service(c, authority, &ids, err);
    if (r < 0)
        return r;
    if (r) {
        r = add_name_service(&s, &ids, err);
    } else {
        s.name_service = "";
        r = conf_services_add_server(&s, "", "fs.defaultFS", authority, err);
    }
    if (r < 0)
        return r;
    *ret = found;
    found = (struct hosts){ 0 };
    return 0;
}
