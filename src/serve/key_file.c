/* key_file.c - reads a file of keys, and looks for the one that a client shows among their hashes.
 * See key_file.h. */
#include "serve/key_file.h"
#include "base/array.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEARER "Bearer "
#define KEYS_MAX 1024

/* Nobody else may read it, nor put another one in its place. */
int secret_read(const char *path, struct buf *ret, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "'%s' is not a file", path);
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 077)) {
        err_set(err, -EPERM, "'%s' has a secret that others can read", path);
        err_hint(err, "run: chmod 600 %s", path);
        return -EPERM;
    }
    for (;;) {
        uint8_t *at;
        ssize_t n;

        if (buf_room(ret, 4096, &at) < 0)
            return err_set(err, -E2BIG, "'%s' is too large", path);
        n = read(fd, at, 4096);
        if (n < 0)
            return err_sys(err, "read '%s'", path);
        if (n == 0)
            return 0;
        ret->len += (size_t)n;
    }
}

int key_file_each(const char *path,
                  int (*each)(void *user, const char *key, size_t n, struct err *err), void *user,
                  struct err *err)
{
    struct buf text = { .max = KEY_FILE_BYTES };
    int r = secret_read(path, &text, err);
    const char *at = r == 0 ? buf_text(&text) : NULL;
    size_t keys = 0;

    while (r == 0 && at && *at) {
        size_t n = strcspn(at, "\r\n");

        if (n > 0 && *at != '#') {
            keys++;
            r = n < KEY_LEAST ? err_set(err, -EINVAL, "'%s': a key has at least %d characters",
                                        path, KEY_LEAST)
                              : each(user, at, n, err);
        }
        at += n + (at[n] != '\0');
    }
    if (r == 0 && keys == 0)
        r = err_set(err, -EINVAL, "'%s' has no key in it", path);
    buf_wipe(&text);
    return r;
}

int key_sum(const char *key, size_t n, uint8_t ret[KEY_SUM], struct err *err)
{
    unsigned len = 0;

    return EVP_Digest(key, n, ret, &len, EVP_sha256(), NULL) == 1 && len == KEY_SUM ? 0
                                                                                    : err_oom(err);
}

/* ---- a set ---- */

static int key_set_add(void *user, const char *key, size_t n, struct err *err)
{
    struct key_set *s = user;
    uint8_t(*more)[KEY_SUM] = s->n < KEYS_MAX ? realloc(s->sums, (s->n + 1) * KEY_SUM) : NULL;

    if (!more)
        return err_set(err, -ENOMEM, "there is no room for more than %zu keys", s->n);
    s->sums = more;
    return key_sum(key, n, s->sums[s->n++], err);
}

int key_set_read(const char *path, struct key_set *ret, struct err *err)
{
    int r = key_file_each(path, key_set_add, ret, err);

    if (r < 0)
        key_set_done(ret);
    return r;
}

/* All sums are compared, whole and in constant time: how long an answer takes must not tell how
 * near a guess was, nor which of the keys it was. */
bool key_set_shown(const struct key_set *s, const char *authorization)
{
    const char *key = authorization;
    uint8_t sum[KEY_SUM];
    bool found = s->n == 0;

    if (found)
        return true;
    if (!key || strncasecmp(key, BEARER, strlen(BEARER)) != 0)
        return false;
    key += strlen(BEARER);
    key += strspn(key, " ");
    if (key_sum(key, strlen(key), sum, NULL) < 0)
        return false;
    for (size_t i = 0; i < s->n; i++)
        found |= CRYPTO_memcmp(sum, s->sums[i], KEY_SUM) == 0;
    return found;
}

void key_set_done(struct key_set *s)
{
    free(s->sums);
    *s = (struct key_set){ 0 };
}
