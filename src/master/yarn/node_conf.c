/* node_conf.c - what the configuration of the node itself says: see master_container.h. The job's
 * own comes from where it was submitted, which knows nothing of single nodes. */
#include "base/log.h"
#include "hadoop/conf/conf_services.h"
#include "master/yarn/master_container.h"

#include <string.h>

#define SCHEDULER "yarn.resourcemanager.scheduler.address"

/* One that says nothing of it has only a default, which is no server at all. */
static bool names_scheduler(const struct conf *c)
{
    AUTO_STRS keys = { 0 };
    AUTO_HOSTS hosts = { 0 };
    bool named = false;

    if (conf_keys(c, SCHEDULER, &keys, NULL) < 0)
        return false;
    for (size_t i = 0; i < keys.n; i++) /* also "….rm1", but not "….address-something" */
        named = named || !keys.v[i][strlen(SCHEDULER)] || keys.v[i][strlen(SCHEDULER)] == '.';
    return named && conf_resourcemanagers(c, RM_SCHEDULER, &hosts, NULL) == 0;
}

int master_container_node_conf(struct conf **ret, struct err *err)
{
    AUTO_CONF *c = NULL;
    AUTO_FREE char *dir = NULL;
    struct err why = ERR_INIT;
    int r = conf_find_dir(NULL, &dir, &why);

    if (r == 0)
        r = conf_load(dir, &c, &why);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0)
        log_info(LOG_MASTER, "the node's own configuration is not used: %s", why.text);
    else if (names_scheduler(c))
        *ret = take(c);
    return 0;
}
