/* join.c - reads the file that an agent joins a job by. It holds the job's key, so its owner and
 * its mode are checked before a byte is used, and the decoded key is wiped. */
#include "agent/link/join.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "job/protocol.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (8 * KIB)

static int join_check_owner(const char *file, struct err *err)
{
    struct stat st;

    if (stat(file, &st) < 0)
        return err_sys(err, "open '%s'", file);
    if (st.st_uid != geteuid())
        return err_set(err, -EACCES, "'%s' belongs to another user", file);
    if (st.st_mode & 077) {
        err_set(err, -EACCES, "'%s' can be read by others", file);
        err_hint(err, "it holds a key: chmod 600");
        return -EACCES;
    }
    return 0;
}

/* All of it is parsed and copied before anything changes: with a bad address the old one stays
 * good. */
int join_set_address(struct join *j, const char *text, struct err *err)
{
    AUTO_FREE char *address = strdup(text), *path = NULL, *host = NULL;
    const char *colon = strrchr(text, ':');
    int64_t port = 0;

    if (!address)
        return err_oom(err);
    if (str_starts(text, "unix:/"))
        path = strdup(text + 5);
    else if (str_starts(text, "tcp:") && colon > text + 4 &&
             str_to_i64(colon + 1, 1, 65535, &port) == 0)
        host = strndup(text + 4, (size_t)(colon - text - 4));
    else
        return err_set(err, -EINVAL, "'%s' is not an address (unix:/path or tcp:host:port)", text);
    if (!path && !host)
        return err_oom(err);
    free(j->address);
    free(j->path);
    free(j->host);
    j->address = take(address);
    j->path = take(path);
    j->host = take(host);
    j->port = (int)port;
    return 0;
}

static int set_key(struct join *j, const char *job, const char *text, struct err *err)
{
    uint8_t *key = NULL;
    size_t n = 0;
    int r = str_unbase64(text, &key, &n);

    if (r == -ENOMEM)
        return err_oom(err);
    if (r == 0 && n == STREAM_KEY)
        memcpy(j->key.key, key, n);
    else
        r = err_set(err, -EINVAL, "the key is not base64 of %d bytes", STREAM_KEY);
    if (key)
        explicit_bzero(key, n);
    free(key);
    if (r == 0 && strlen(job) >= sizeof(j->key.identity))
        r = err_set(err, -EINVAL, "the job's id is too long");
    if (r == 0)
        memcpy(j->key.identity, job, strlen(job) + 1);
    return r;
}

int join_read(const char *file, struct join *ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *address = NULL, *job = NULL, *key = NULL;
    int r;

    *ret = (struct join){ 0 };
    r = join_check_owner(file, err);
    if (r == 0)
        r = json_parse_file(file, FILE_MAX, &v, err);
    if (r == 0)
        r = protocol_check_json(PROTOCOL_JOIN, v, err);
    if (r < 0)
        return r;
    if (json_unpack(v, "{s:s, s:s, s:s}", "address", &address, "job", &job, "key", &key) < 0)
        return err_set(err, -EINVAL, "'%s' lacks its address, job or key", file);
    r = join_set_address(ret, address, err);
    if (r == 0)
        r = set_key(ret, job, key, err);
    return r < 0 ? err_wrap(err, r, "'%s'", file) : 0;
}

void join_done(struct join *j)
{
    free(j->address);
    free(j->path);
    free(j->host);
    explicit_bzero(j, sizeof(*j));
}
