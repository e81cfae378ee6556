/* security.c - how servers are to be trusted; see conf_services.h */
#include "hadoop/conf/conf_services.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum protection protection;
} protection_names[] = {
    { "authentication", PROTECT_AUTH },
    { "integrity", PROTECT_INTEGRITY },
    { "privacy", PROTECT_PRIVACY },
};

static bool security_has(const struct protections *p, enum protection one)
{
    for (int i = 0; i < p->n; i++)
        if (p->v[i] == one)
            return true;
    return false;
}

static int security_add(struct protections *p, const char *word)
{
    for (size_t i = 0; i < COUNT_OF(protection_names); i++) {
        enum protection one = protection_names[i].protection;

        if (strcasecmp(word, protection_names[i].name) != 0)
            continue;
        if (!security_has(p, one))
            p->v[p->n++] = one;
        return 0;
    }
    return -EINVAL;
}

static int read_protections(const struct conf *c, const char *key, struct protections *ret,
                            struct err *err)
{
    AUTO_STRS words = { 0 };
    int r;

    r = conf_list(c, key, &words, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < words.n; i++)
        if (security_add(ret, words.v[i]) < 0)
            return conf_bad(c, key, words.v[i], "not authentication, integrity or privacy", err);
    return 0;
}

static int read_authentication(const struct conf *c, bool *ret, struct err *err)
{
    static const char key[] = "hadoop.security.authentication";
    AUTO_FREE char *text = NULL;
    int r;

    r = conf_str(c, key, &text, err);
    if (r < 0)
        return r;
    *ret = strcasecmp(text, "kerberos") == 0;
    if (!*ret && strcasecmp(text, "simple") != 0)
        return conf_bad(c, key, text, "not simple or kerberos", err);
    return 0;
}

int conf_security(const struct conf *c, struct security *ret, struct err *err)
{
    const struct {
        const char *key;
        bool *where;
    } switches[] = {
        { "ipc.client.fallback-to-simple-auth-allowed", &ret->fallback_to_simple },
        { "hadoop.security.token.service.use_ip", &ret->use_ip },
        { "dfs.encrypt.data.transfer", &ret->encrypt_data },
    };
    int r;

    *ret = (struct security){ 0 };
    r = read_authentication(c, &ret->kerberos, err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(switches); i++)
        r = conf_bool(c, switches[i].key, switches[i].where, err);
    if (r == 0)
        r = read_protections(c, "hadoop.rpc.protection", &ret->rpc, err);
    if (r == 0)
        r = read_protections(c, "dfs.data.transfer.protection", &ret->data, err);
    if (r == 0 && ret->rpc.n == 0) /* set, but to nothing: as if it were not */
        r = security_add(&ret->rpc, "authentication");
    return r;
}
