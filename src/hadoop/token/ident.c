/* ident.c - reads the identifiers inside tokens: whose, for what, until when. The server's secret
 * is not needed for that; a token is opaque by convention only. A table says which kind is encoded
 * how. Its description for people is in describe.c, block tokens are in block.c. See ident.h. */
#include "hadoop/token/ident.h"
#include "base/str.h"
#include "hadoop/token/block.h"
#include "hadoop/token/writable.h"
#include "hadoop/yarn_token.pb-c.h"

#include <string.h>

void ident_done(struct ident *i)
{
    free(i->owner);
    free(i->renewer);
    free(i->real_user);
    free(i->node);
    free(i->pool);
    *i = (struct ident){ 0 };
}

/* A copy of a text that may be absent. False when out of memory. */
static bool ident_set(char **where, const char *text)
{
    *where = strdup(text ? text : "");
    return *where != NULL;
}

/* ---- delegation tokens ---- */

/* version 0, owner, renewer and real user, issue and end, number, key: HDFS, and old YARN. */
static int parse_writable(struct view v, struct ident *ret)
{
    int version = view_u8(&v);
    struct view owner = writable_text(&v), renewer = writable_text(&v),
                real_user = writable_text(&v);
    int r;

    ret->issued = writable_vlong(&v);
    ret->expires = writable_vlong(&v);
    ret->sequence = writable_vint(&v);
    ret->key_id = writable_vint(&v);
    if (v.bad || version != 0)
        return -EBADMSG;
    r = writable_dup(owner, &ret->owner);
    if (r == 0)
        r = writable_dup(renewer, &ret->renewer);
    if (r == 0)
        r = writable_dup(real_user, &ret->real_user);
    return r;
}

static int parse_yarn_delegation(struct view v, struct ident *ret)
{
    Yarn__RmDelegationTokenIdentifier *m;
    bool ok;

    if (v.n > 0 && *v.p == 0) /* no message begins with a 0 */
        return parse_writable(v, ret);
    m = yarn__rm_delegation_token_identifier__unpack(NULL, v.n, v.p);
    if (!m)
        return -EBADMSG;
    ret->issued = m->issue_date;
    ret->expires = m->max_date;
    ret->sequence = m->sequence_number;
    ret->key_id = m->master_key_id;
    ok = ident_set(&ret->owner, m->owner) && ident_set(&ret->renewer, m->renewer) &&
         ident_set(&ret->real_user, m->real_user);
    yarn__rm_delegation_token_identifier__free_unpacked(m, NULL);
    return ok ? 0 : -ENOMEM;
}

/* ---- tokens of an application ---- */

static void set_attempt(struct ident *ret, const Yarn__ApplicationAttemptId *id)
{
    if (!id)
        return;
    ret->attempt = id->attempt_id;
    if (id->application_id) {
        ret->cluster = id->application_id->cluster_timestamp;
        ret->application = id->application_id->id;
    }
}

static int parse_amrm(struct view v, struct ident *ret)
{
    Yarn__AmRmTokenIdentifier *m = yarn__am_rm_token_identifier__unpack(NULL, v.n, v.p);

    if (!m)
        return -EBADMSG;
    set_attempt(ret, m->attempt_id);
    ret->key_id = m->key_id;
    yarn__am_rm_token_identifier__free_unpacked(m, NULL);
    return 0;
}

static int parse_nm(struct view v, struct ident *ret)
{
    Yarn__NmTokenIdentifier *m = yarn__nm_token_identifier__unpack(NULL, v.n, v.p);

    if (!m)
        return -EBADMSG;
    set_attempt(ret, m->attempt_id);
    ret->key_id = m->key_id;
    (void)ident_set(&ret->owner, m->submitter);
    ret->node =
        str_printf("%s:%d", m->node_id ? m->node_id->host : "", m->node_id ? m->node_id->port : 0);
    yarn__nm_token_identifier__free_unpacked(m, NULL);
    return ret->owner && ret->node ? 0 : -ENOMEM;
}

static int parse_container(struct view v, struct ident *ret)
{
    Yarn__ContainerTokenIdentifier *m = yarn__container_token_identifier__unpack(NULL, v.n, v.p);
    bool ok;

    if (!m)
        return -EBADMSG;
    if (m->container_id) {
        set_attempt(ret, m->container_id->attempt_id);
        ret->container = m->container_id->id;
    }
    ret->key_id = m->master_key_id;
    ret->issued = m->creation_time;
    ret->expires = m->expiry;
    ok = ident_set(&ret->owner, m->submitter) && ident_set(&ret->node, m->node_address);
    yarn__container_token_identifier__free_unpacked(m, NULL);
    return ok ? 0 : -ENOMEM;
}

static int parse_client(struct view v, struct ident *ret)
{
    Yarn__ClientToAmTokenIdentifier *m =
        yarn__client_to_am_token_identifier__unpack(NULL, v.n, v.p);
    bool ok;

    if (!m)
        return -EBADMSG;
    set_attempt(ret, m->attempt_id);
    ok = ident_set(&ret->owner, m->client_name);
    yarn__client_to_am_token_identifier__free_unpacked(m, NULL);
    return ok ? 0 : -ENOMEM;
}

static const struct {
    const char *kind;
    enum ident_type type;
    int (*parse)(struct view v, struct ident *ret);
} kinds[] = {
    { KIND_HDFS, IDENT_DELEGATION, parse_writable },
    { "WEBHDFS delegation", IDENT_DELEGATION, parse_writable },
    { "SWEBHDFS delegation", IDENT_DELEGATION, parse_writable },
    { "kms-dt", IDENT_DELEGATION, parse_writable },
    { KIND_RM, IDENT_DELEGATION, parse_yarn_delegation },
    { "TIMELINE_DELEGATION_TOKEN", IDENT_DELEGATION, parse_yarn_delegation },
    { KIND_AMRM, IDENT_ATTEMPT, parse_amrm },
    { KIND_NM, IDENT_NODE, parse_nm },
    { KIND_CONTAINER, IDENT_CONTAINER, parse_container },
    { KIND_CLIENT_TO_AM, IDENT_CLIENT, parse_client },
    { KIND_BLOCK, IDENT_BLOCK, block_parse },
};

/* A kind that is not in the table has no readable identifier, which is not an error: such a token
 * is passed on as it is. */
int ident_parse(const char *kind, const void *p, size_t n, struct ident *ret, struct err *err)
{
    AUTO_IDENT found = { 0 };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_eq(kinds[i].kind, kind)) {
            found.type = kinds[i].type;
            r = kinds[i].parse(view_of(n ? p : "", n), &found);
            break;
        }
    if (r == -EBADMSG)
        return err_set(err, r, "%s: an identifier of %zu bytes that cannot be read", kind, n);
    if (r < 0)
        return err_oom(err);
    *ret = found;
    found = (struct ident){ 0 };
    return 0;
}
