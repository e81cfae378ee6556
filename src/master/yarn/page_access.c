/* page_access.c - who may look at the job's page: the address has to be the proxy's, then the name
 * that the proxy gives has to be the owner's or on the view list.
 *
 * The list is in Hadoop's form for such lists, "user1,user2 group1,group2", where "*" alone is
 * everybody. Groups are asked for last, as only that takes a call to a server. Without Kerberos a
 * name is a mere claim, so none is checked. See page_access.h. */
#include "master/yarn/page_access.h"
#include "base/log.h"
#include "base/str.h"
#include "hadoop/conf/conf_services.h"
#include "loop/resolve.h"
#include "wire/http_cookie.h"

#include <string.h>

#define COOKIE "proxy-user" /* WebAppProxyServlet's */
#define RESOLVE_MS 5000

/* ---- addresses ---- */

static void add_proxy(struct page_access *a, struct loop *l, const char *host)
{
    struct resolve_addrs found = { 0 };

    if (resolve_host(l, host, 0, loop_in(l, RESOLVE_MS), &found, NULL) < 0)
        return;
    for (int i = 0; i < found.n && a->n_proxies < PAGE_PROXIES_MAX; i++)
        (void)resolve_text(&found.v[i], a->proxies[a->n_proxies++]);
}

/* Looked up once, when the master starts: a proxy that moves to another address later is not
 * listened to. A name that cannot be resolved is left out, and nobody is let in for it. */
void page_access_find(struct page_access *a, struct loop *l, const struct conf *conf)
{
    AUTO_HOSTS rms = { 0 };
    AUTO_FREE char *own = NULL;
    char *colon;

    if (conf_str(conf, "yarn.web-proxy.address", &own, NULL) == 0 && own && *own) {
        colon = strrchr(own, ':');
        if (colon)
            *colon = '\0';
        add_proxy(a, l, own);
        return;
    }
    if (conf_resourcemanagers(conf, RM_WEBAPP, &rms, NULL) == 0)
        for (size_t i = 0; i < rms.n; i++)
            add_proxy(a, l, rms.v[i].host);
}

bool page_access_from(const struct page_access *a, const char *address)
{
    if (!a->secure && str_eq(address, a->host))
        return true;
    for (size_t i = 0; i < a->n_proxies; i++)
        if (str_eq(a->proxies[i], address))
            return true;
    return false;
}

/* ---- users ---- */

static bool is_everybody(const struct strs *l)
{
    return l->n == 1 && str_eq(l->v[0], "*");
}

/* When nobody can say which groups he is in, he is in none. */
static bool in_groups(const struct page_access *a, const char *user, const struct strs *groups)
{
    AUTO_STRS his = { 0 };
    struct err err = ERR_INIT;

    if (groups->n == 0 || !a->groups)
        return false;
    if (a->groups(a->arg, user, &his, &err) < 0) {
        log_warn(LOG_MASTER, "%s", err.text);
        return false;
    }
    for (size_t i = 0; i < groups->n; i++)
        if (strs_has(&his, groups->v[i]))
            return true;
    return false;
}

/* Does "USERS GROUPS" name him, or everybody? */
static int lists(const struct page_access *a, const char *user, bool *ret)
{
    size_t n = strcspn(a->view, " \t");
    AUTO_STRS users = { 0 };
    AUTO_STRS groups = { 0 };
    AUTO_FREE char *first = strndup(a->view, n);
    int r = first ? strs_split(&users, first, ",") : -ENOMEM;

    if (r == 0)
        r = strs_split(&groups, a->view + n, ",");
    if (r < 0)
        return r;
    *ret = strs_has(&users, user) || is_everybody(&users) || is_everybody(&groups) ||
           in_groups(a, user, &groups);
    return 0;
}

int page_access_check(const struct page_access *a, const char *cookie, struct err *err)
{
    AUTO_FREE char *user = NULL;
    bool listed = false;
    int r;

    if (!a->secure)
        return 0;
    r = http_cookie(cookie, COOKIE, &user);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0 || !user || !*user)
        return err_set(err, -EACCES, "the proxy does not say who asks, and not everybody may look");
    r = a->view && !str_eq(user, a->owner) ? lists(a, user, &listed) : 0;
    if (r < 0)
        return err_oom(err);
    if (listed || str_eq(user, a->owner))
        return 0;
    r = err_set(err, -EACCES, "'%.100s' may not look at this job", user);
    err_hint(err, "it is %s's, whose job file says under acl.view who else may look",
             a->owner ? a->owner : "another user");
    return r;
}
