/* yarn_keytab.c - derives a key of its own from the job's key (that one is for TLS), and seals
 * with AES-256-GCM, with the job's id as associated data: a sealed keytab is of no use to another
 * job. See yarn_keytab.h. */
#include "platform/yarn/yarn_keytab.h"
#include "base/json.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <sys/random.h>

static const uint8_t magic[] = { 'Y', 'D', 'L', 'K', 1 };
#define NONCE 12
#define TAG 16
#define HEAD (sizeof(magic) + NONCE)

void yarn_keytab_init(struct yarn_keytab *k)
{
    *k = (struct yarn_keytab){ .keytab = { .max = YARN_KEYTAB_MAX } };
}

void yarn_keytab_done(struct yarn_keytab *k)
{
    free(take(k->principal));
    strs_done(&k->places);
    buf_wipe(&k->keytab);
}

/* ---- the seal ---- */

/* Not the job's key itself: that one is for TLS. */
static int yarn_keytab_make_key(const struct stream_key *key, uint8_t ret[EVP_MAX_MD_SIZE],
                                struct err *err)
{
    static const char purpose[] = "ydl keytab";
    unsigned n = 0;

    if (!HMAC(EVP_sha256(), key->key, STREAM_KEY, (const uint8_t *)purpose, strlen(purpose), ret,
              &n) ||
        n != 32)
        return err_oom(err);
    return 0;
}

/* The cipher with its key, and the job's id as what it vouches for besides. */
static int yarn_keytab_start(EVP_CIPHER_CTX *c, const struct stream_key *key, const uint8_t *nonce,
                             bool seal, struct err *err)
{
    uint8_t secret[EVP_MAX_MD_SIZE];
    int n = 0, r = yarn_keytab_make_key(key, secret, err);

    if (r == 0 && (EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, secret, nonce, seal) != 1 ||
                   EVP_CipherUpdate(c, NULL, &n, (const uint8_t *)key->identity,
                                    (int)strlen(key->identity)) != 1))
        r = err_oom(err); /* nothing else can fail here */
    explicit_bzero(secret, sizeof(secret));
    return r;
}

AUTO_DEFINE(cipher, EVP_CIPHER_CTX *, EVP_CIPHER_CTX_free);

static int yarn_keytab_do_seal(const struct stream_key *key, const char *text, struct buf *ret,
                               struct err *err)
{
    AUTO(cipher) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    size_t len = strlen(text);
    uint8_t nonce[NONCE], *room = NULL;
    int n = 0, r = c ? 0 : err_oom(err);

    if (r == 0 && getrandom(nonce, NONCE, 0) != NONCE)
        r = err_sys(err, "random number");
    if (r == 0)
        r = yarn_keytab_start(c, key, nonce, true, err);
    if (r < 0)
        return r;
    if (buf_room(ret, HEAD + len + TAG, &room) < 0)
        return err_oom(err);
    memcpy(room, magic, sizeof(magic));
    memcpy(room + sizeof(magic), nonce, NONCE);
    room += HEAD;
    if (EVP_CipherUpdate(c, room, &n, (const uint8_t *)text, (int)len) != 1 || (size_t)n != len ||
        EVP_CipherFinal_ex(c, room + len, &n) != 1 || n != 0 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG, room + len) != 1)
        return err_oom(err);
    ret->len += HEAD + len + TAG;
    return 0;
}

static int unseal(const struct stream_key *key, const uint8_t *p, size_t n, struct buf *ret,
                  struct err *err)
{
    AUTO(cipher) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    size_t len = n - HEAD - TAG;
    uint8_t *room = NULL;
    int got = 0, r = c ? yarn_keytab_start(c, key, p + sizeof(magic), false, err) : err_oom(err);

    if (r < 0)
        return r;
    if (buf_room(ret, len, &room) < 0)
        return err_oom(err);
    if (EVP_CipherUpdate(c, room, &got, p + HEAD, (int)len) != 1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG, (void *)(p + HEAD + len)) != 1 ||
        EVP_CipherFinal_ex(c, room + got, &got) != 1)
        return err_set(err, -EBADMSG, "the keytab of the job is not sealed with its key");
    ret->len = len;
    return 0;
}

/* ---- the text ---- */

static int make_text(const struct yarn_keytab *k, char **ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    char *bytes = NULL;
    json_t *places = json_texts(k->places.v, k->places.n);
    int r;

    if (!places || str_base64(k->keytab.data ? k->keytab.data : magic, k->keytab.len, &bytes) < 0) {
        json_decref(places);
        return err_oom(err);
    }
    r = json_make(&v, err, "{s:s, s:o, s:s}", "principal", k->principal, "places", places, "keytab",
                  bytes);
    explicit_bzero(bytes, strlen(bytes));
    free(bytes);
    if (r < 0)
        return r;
    *ret = json_dumps(v, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}

int yarn_keytab_seal(const struct yarn_keytab *k, const struct stream_key *key, struct buf *ret,
                     struct err *err)
{
    char *text = NULL;
    int r = make_text(k, &text, err);

    if (r < 0)
        return r;
    r = yarn_keytab_do_seal(key, text, ret, err);
    explicit_bzero(text, strlen(text));
    free(text);
    return r;
}

static int set_places(const json_t *list, struct yarn_keytab *k, struct err *err)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (!json_is_string(one))
            return err_set(err, -EBADMSG, "an address in the job's keytab is not text");
        if (strs_add(&k->places, json_string_value(one)) < 0)
            return err_oom(err);
    }
    return 0;
}

/* The seal has been checked by now: a text that makes no sense was sealed that way, perhaps by
 * another version. All that was decoded is wiped. */
static int yarn_keytab_read_text(const struct buf *text, struct yarn_keytab *k, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *principal = NULL, *base64 = NULL;
    json_t *places = NULL;
    uint8_t *bytes = NULL;
    size_t n = 0;
    int r = json_parse("the keytab of the job", text->data, text->len, &v, err);

    if (r < 0)
        return r == -ENOMEM ? r : (err->code = -EBADMSG);
    if (json_unpack(v, "{s:s, s:o, s:s}", "principal", &principal, "places", &places, "keytab",
                    &base64) < 0 ||
        !json_is_array(places))
        return err_set(err, -EBADMSG, "the keytab of the job lacks its principal or places");
    k->principal = strdup(principal);
    r = k->principal ? set_places(places, k, err) : err_oom(err);
    if (r < 0)
        return r;
    r = str_unbase64(base64, &bytes, &n);
    if (r == 0)
        r = buf_add(&k->keytab, bytes, n);
    if (bytes)
        explicit_bzero(bytes, n);
    free(bytes);
    return r == -ENOMEM ? err_oom(err)
           : r < 0      ? err_set(err, -EBADMSG, "the job's keytab is damaged")
                        : 0;
}

int yarn_keytab_open(const void *p, size_t n, const struct stream_key *key, struct yarn_keytab *ret,
                     struct err *err)
{
    struct buf text = { .max = YARN_KEYTAB_SEALED_MAX };
    int r;

    yarn_keytab_init(ret);
    if (n < HEAD + TAG || n > YARN_KEYTAB_SEALED_MAX || memcmp(p, magic, sizeof(magic)) != 0)
        return err_set(err, -EBADMSG, "this is not a job's keytab");
    r = unseal(key, p, n, &text, err);
    if (r == 0)
        r = yarn_keytab_read_text(&text, ret, err);
    buf_wipe(&text);
    return r;
}
