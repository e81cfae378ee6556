/* replica_key.c - made, kept, and written to files. See replica_key.h. */
#include "serve/deployment/replica_key.h"
#include "base/path.h"
#include "serve/deployment/task_store.h"
#include "serve/key_file.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

#define NOISE 32                  /* bytes: twice as many characters */
#define LEAST ((size_t)2 * NOISE) /* what is shorter was not made here */
#define WAIT_MS 20000             /* less than line_client.h waits for an answer */
#define WAITS 6                   /* the gateway's task may be started later, or again */

static void forget(char **key) /* as AUTO_FREE, for secrets */
{
    if (*key)
        OPENSSL_cleanse(*key, strlen(*key));
    free(*key);
}
#define AUTO_KEY AUTO_DONE(forget) char *

/* Only what we made ourselves may stand in a file of keys and in HAProxy's configuration. */
static int key_to_file(const char *key, const char *path, struct err *err)
{
    if (strlen(key) != LEAST || strspn(key, "0123456789abcdef") != LEAST)
        return err_set(err, -EPROTO,
                       "'%s' of the job's key-value store is not the key of a gateway",
                       REPLICA_KEY);
    return path_write_unflushed(path, key, LEAST, 0600, err);
}

/* Another gateway task, alive for a while beside this one, may make one at the same time: the first
 * that is put is the key for both. */
static int make_key(struct line_client *store, char **ret, struct err *err)
{
    uint8_t noise[NOISE];
    AUTO_KEY made = NULL;
    int r = RAND_bytes(noise, sizeof(noise)) == 1
                ? 0
                : err_set(err, -EIO, "make a key: there are no random numbers");

    if (r == 0 && str_hex(noise, sizeof(noise), &made) < 0)
        r = err_oom(err);
    OPENSSL_cleanse(noise, sizeof(noise));
    if (r == 0)
        r = task_store_put_new(store, REPLICA_KEY, made, ret, err);
    if (r > 0)
        *ret = take(made);
    return r < 0 ? r : 0;
}

int replica_key_make(struct line_client *store, const char *path, struct err *err)
{
    AUTO_KEY key = NULL;
    int r = task_store_get(store, REPLICA_KEY, &key, err);

    if (r == 0)
        r = make_key(store, &key, err);
    return r < 0 ? r : key_to_file(key, path, err);
}

int replica_key_await(struct line_client *store, const char *path, struct err *err)
{
    AUTO_KEY key = NULL;
    int r = 0;

    for (int i = 0; i < WAITS && r == 0; i++)
        r = task_store_wait(store, REPLICA_KEY, WAIT_MS, &key, err);
    if (r == 0)
        return err_set(err, -ETIMEDOUT,
                       "the deployment's gateway has not made its key within %d "
                       "seconds",
                       WAITS * WAIT_MS / 1000);
    return r < 0 ? r : key_to_file(key, path, err);
}

int replica_key_add(const char *path, const char *users, struct err *err)
{
    AUTO_BUF keys = { .max = 2 * KEY_FILE_BYTES };
    int r = secret_read(path, &keys, err);

    if (r == 0 && buf_add_str(&keys, "\n") < 0)
        r = err_oom(err);
    if (r == 0)
        r = secret_read(users, &keys, err);
    if (r == 0)
        r = path_write_unflushed(path, keys.data, keys.len, 0600, err);
    buf_wipe(&keys);
    return r;
}
