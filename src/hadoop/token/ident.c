/* ident.c - reads the identifiers of delegation tokens: who may renew them, until when they are
 * good. The server's secret is not needed for that; a token is opaque by convention only. A table
 * says which kind is encoded how. Block tokens are in block.c. See ident.h. */
#include "hadoop/token/ident.h"
#include "base/str.h"
#include "hadoop/token/writable.h"
#include "hadoop/yarn_token.pb-c.h"

#include <string.h>

void ident_done(struct ident *i)
{
    free(i->renewer);
    *i = (struct ident){ 0 };
}

/* version 0, owner, renewer and real user, issue and end, number, key: HDFS, and old YARN. */
static int parse_writable(struct view v, struct ident *ret)
{
    int version = view_u8(&v);
    struct view renewer;

    (void)writable_text(&v);
    renewer = writable_text(&v);
    (void)writable_text(&v);
    ret->issued = writable_vlong(&v);
    ret->expires = writable_vlong(&v);
    ret->sequence = writable_vint(&v);
    (void)writable_vint(&v);
    if (v.bad || version != 0)
        return -EBADMSG;
    return writable_dup(renewer, &ret->renewer);
}

static int parse_yarn_delegation(struct view v, struct ident *ret)
{
    Yarn__RmDelegationTokenIdentifier *m;

    if (v.n > 0 && *v.p == 0) /* no message begins with a 0 */
        return parse_writable(v, ret);
    m = yarn__rm_delegation_token_identifier__unpack(NULL, v.n, v.p);
    if (!m)
        return -EBADMSG;
    ret->issued = m->issue_date;
    ret->expires = m->max_date;
    ret->sequence = m->sequence_number;
    ret->renewer = strdup(m->renewer ? m->renewer : "");
    yarn__rm_delegation_token_identifier__free_unpacked(m, NULL);
    return ret->renewer ? 0 : -ENOMEM;
}

static const struct {
    const char *kind;
    int (*parse)(struct view v, struct ident *ret);
} kinds[] = {
    { KIND_HDFS, parse_writable },
    { "WEBHDFS delegation", parse_writable },
    { "SWEBHDFS delegation", parse_writable },
    { "kms-dt", parse_writable },
    { KIND_RM, parse_yarn_delegation },
    { "TIMELINE_DELEGATION_TOKEN", parse_yarn_delegation },
};

/* A kind that is not in the table has no readable identifier, which is not an error: such a token
 * is passed on as it is. */
int ident_parse(const char *kind, const void *p, size_t n, struct ident *ret, struct err *err)
{
    AUTO_IDENT found = { 0 };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_eq(kinds[i].kind, kind)) {
            found.type = IDENT_DELEGATION;
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
