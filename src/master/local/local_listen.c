/* local_listen.c - where a master on one machine is found: sockets in the job's run directory, and
 * a file for its agents. Agents of pretended machines come over TCP, as on a cluster. */
#include "base/path.h"
#include "job/protocol.h"
#include "loop/listen.h"
#include "master/local/master_local_private.h"

#include <string.h>

int local_listen(struct master *m, int *ret_fd, char **ret_address, struct err *err)
{
    int port = 0;
    int r = m->tls ? listen_tcp("127.0.0.1", 0, 0, ret_fd, &port, err)
                   : listen_unix(m->paths.agents, ret_fd, err);

    if (r < 0)
        return r;
    *ret_address =
        m->tls ? str_printf("tcp:127.0.0.1:%d", port) : str_printf("unix:%s", m->paths.agents);
    return *ret_address ? 0 : err_oom(err);
}

int local_publish(struct master *m, const char *address, struct err *err)
{
    AUTO_FREE char *key = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_JSON *v = NULL;
    int r = str_base64(m->key.key, sizeof(m->key.key), &key);

    if (r < 0)
        return err_oom(err);
    r = json_make(&v, err, "{s:i, s:s, s:s, s:s}", PROTOCOL_KEY, protocol_number(PROTOCOL_JOIN),
                  "address", address, "job", m->opt->dir->id, "key", key);
    if (r < 0)
        return r;
    text = json_dumps(v, JSON_COMPACT);
    if (!text)
        return err_oom(err);
    return path_write_new(m->paths.join, text, strlen(text), 0600, err);
}

/* On this machine nobody shows a key to use the API: the kernel vouches for the user. */
static bool is_owner(void *user, int fd)
{
    uid_t uid = 0;

    (void)user;
    return sock_peer_uid(fd, &uid) == 0 && (uid == geteuid() || uid == 0);
}

int local_listen_api(struct master *m, struct http_server_options *o, struct err *err)
{
    AUTO_FREE char *path = path_join(m->opt->dir->run, "api.sock");

    o->check = is_owner;
    return path ? listen_unix(path, &o->fd, err) : err_oom(err);
}
