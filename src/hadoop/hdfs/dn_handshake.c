/* dn_handshake.c - signs in to a DataNode before the first operation, when data is protected:
 *
 *     client                                        DataNode
 *     magic number, user and (rarely) secret  ──►
 *                                             ◄──   DIGEST-MD5 challenge
 *     response, and the ciphers we know       ──►
 *                                             ◄──   proof, and two AES keys wrapped by the layer
 *
 * With AES keys the stream is encrypted by AES from here on, otherwise by the SASL layer itself.
 * See dn_handshake.h. */
#include "hadoop/hdfs/dn_handshake.h"
#include "base/log.h"
#include "base/str.h"
#include "hadoop/hdfs/op.h"
#include "hadoop/sasl/digest.h"
#include "hadoop/token/ident.h"

#include <string.h>

#define MESSAGE_MAX (64 * KIB)
#define MAGIC 0xDEADBEEFu

/* The cluster's word first: with dfs.encrypt.data.transfer everybody uses the NameNode's key. Else
 * the configuration must ask for protection, and a DataNode on a privileged port (below 1024) has
 * proven by that port that root started it, so it speaks the plain protocol. */
enum guard guard_choose(const struct guard_facts *facts)
{
    if (facts->encrypt)
        return GUARD_KEY;
    if (!facts->secure || facts->fallback || facts->port < 1024 || !facts->configured)
        return GUARD_NONE;
    return GUARD_TOKEN;
}

static void free_message(Hdfs__HandshakeMessage **m)
{
    hdfs__handshake_message__free_unpacked(*m, NULL);
}
#define AUTO_MESSAGE __attribute__((cleanup(free_message))) Hdfs__HandshakeMessage

/* Two kinds of secrets, one mechanism. With a block token: its identifier and password. With the
 * NameNode's key: "keyId blockPool nonce" as the user and the key as the password; that is always
 * encrypted. */
static int new_sasl(const struct handshake *h, struct sasl **ret, struct err *err)
{
    struct sasl_digest_conf conf = { .protocol = "hdfs", .server_id = "0", .qops = h->qops };
    const Hdfs__DataEncryptionKey *key = h->key;
    AUTO_FREE char *nonce = NULL;
    AUTO_FREE char *user = NULL;
    AUTO_FREE char *password = NULL;
    int r;

    if (h->guard == GUARD_TOKEN) {
        const struct sasl_digest_token token = {
            .id = h->token->identifier.data,
            .id_len = h->token->identifier.len,
            .password = h->token->password.data,
            .password_len = h->token->password.len,
        };

        return sasl_digest_new_token(&conf, &token, ret, err);
    }
    if (str_base64(key->nonce.data, key->nonce.len, &nonce) < 0 ||
        str_base64(key->encryption_key.data, key->encryption_key.len, &password) < 0)
        return err_oom(err);
    user = str_printf("%u %s %s", key->key_id, key->block_pool_id, nonce);
    if (!user)
        return err_oom(err);
    conf.username = user;
    conf.password = password;
    conf.qops = SASL_QOP_BIT(SASL_CONF);
    if (key->encryption_algorithm && key->encryption_algorithm[0])
        conf.ciphers = key->encryption_algorithm;
    r = sasl_digest_new(&conf, ret, err);
    explicit_bzero(password, strlen(password));
    return r;
}

/* Sends one message, the first with the magic number before it. */
static int dn_handshake_send_message(struct dn_stream *s, const Hdfs__HandshakeMessage *m,
                                     bool first, struct err *err)
{
    AUTO_BUF out = { .max = MESSAGE_MAX };
    int r = 0;

    if (first)
        r = buf_add_be32(&out, MAGIC);
    if (r == 0)
        r = op_add_message(&out, m);
    if (r < 0)
        return err_code(err, r, "%s: the sign-in message", dn_stream_name(s));
    return dn_stream_send(s, out.data, out.len, err);
}

static int dn_handshake_read_message(struct dn_stream *s, Hdfs__HandshakeMessage **ret,
                                     struct err *err)
{
    AUTO_MESSAGE *m = NULL;
    struct view v;
    char text[200] = "no reason given";
    int r = dn_stream_message(s, MESSAGE_MAX, &v, err);

    if (r < 0)
        return err_wrap(err, r, "sign in");
    m = hdfs__handshake_message__unpack(NULL, v.n, v.p);
    if (!m)
        return err_set(err, -EPROTO, "%s: sign in: an invalid HDFS message", dn_stream_name(s));
    if (m->status == HDFS__HANDSHAKE_STATUS__HANDSHAKE_SUCCESS) {
        *ret = take(m);
        return 0;
    }
    if (m->message && m->message[0])
        str_clean(text, sizeof(text), m->message);
    if (m->status == HDFS__HANDSHAKE_STATUS__HANDSHAKE_ERROR_UNKNOWN_KEY)
        r = -EKEYEXPIRED;
    else
        r = m->has_access_token_error && m->access_token_error ? -EKEYREJECTED : -EACCES;
    return err_set(err, r, "%s refuses to let us sign in: %s", dn_stream_name(s), text);
}

/* Our first message: nothing, and the secret that some NameNodes hide in the block token. */
static int dn_handshake_send_first(struct dn_stream *s, const struct handshake *h, struct err *err)
{
    Hdfs__HandshakeMessage m = HDFS__HANDSHAKE_MESSAGE__INIT;
    Hdfs__HandshakeSecret secret = HDFS__HANDSHAKE_SECRET__INIT;
    struct block_secret found = { 0 };
    int r = 0;

    if (h->token)
        r = ident_block_secret(h->token->identifier.data, h->token->identifier.len, &found, err);
    if (r < 0)
        return err_wrap(err, r, "block token");
    m.has_payload = true;
    if (found.secret_len > 0) {
        secret.secret.data = found.secret;
        secret.secret.len = found.secret_len;
        secret.block_pool_id = found.pool;
        m.handshake_secret = &secret;
    }
    r = dn_handshake_send_message(s, &m, true, err);
    block_secret_done(&found);
    return r;
}

static int send_response(struct dn_stream *s, struct sasl *sasl, const Hdfs__HandshakeMessage *got,
                         struct err *err)
{
    Hdfs__HandshakeMessage m = HDFS__HANDSHAKE_MESSAGE__INIT;
    Hdfs__CipherOption aes = HDFS__CIPHER_OPTION__INIT, *options[] = { &aes };
    AUTO_BUF out = { .max = MESSAGE_MAX };
    int r;

    r = sasl_step(sasl, got->payload.data, got->payload.len, &out, err);
    if (r < 0)
        return err_wrap(err, r, "%s: sign in", dn_stream_name(s));
    m.has_payload = true;
    m.payload.data = out.data;
    m.payload.len = out.len;
    /* AES is far faster than any cipher of DIGEST-MD5. A DataNode that is not set up for it
     * leaves it out of its answer, and one without encryption does not look at it. */
    aes.suite = HDFS__CIPHER_SUITE__CIPHER_AES_CTR;
    m.cipher_options = options;
    m.n_cipher_options = sasl_qop(sasl) == SASL_CONF;
    return dn_handshake_send_message(s, &m, false, err);
}

/* Takes the wrapped keys in the order in which the DataNode wrapped them.
 *   field      wrapped as          we use it to
 *   inKey      layer message 0     send
 *   outKey     layer message 1     receive
 * The names are from the DataNode's point of view. Each unwrap uses up a sequence number of the
 * layer, so the other order would fail the MAC. */
static int use_aes(struct dn_stream *s, struct sasl *sasl, const Hdfs__CipherOption *o,
                   struct err *err)
{
    struct dn_stream_keys keys = { .out_iv = o->in_iv.data, .in_iv = o->out_iv.data };
    AUTO_BUF ours = { .max = 4 * KIB };
    AUTO_BUF theirs = { .max = 4 * KIB };
    int r;

    r = sasl_unwrap(sasl, o->in_key.data, o->in_key.len, &ours, err);
    if (r == 0)
        r = sasl_unwrap(sasl, o->out_key.data, o->out_key.len, &theirs, err);
    if (r < 0)
        return err_wrap(err, r, "%s: AES keys", dn_stream_name(s));
    if (o->suite != HDFS__CIPHER_SUITE__CIPHER_AES_CTR || ours.len != theirs.len || ours.len == 0 ||
        o->in_iv.len != 16 || o->out_iv.len != 16)
        return err_set(err, -EPROTO, "%s: AES keys that do not fit", dn_stream_name(s));
    keys.out_key = ours.data;
    keys.in_key = theirs.data;
    keys.key_len = ours.len;
    r = dn_stream_encrypt(s, &keys, err);
    explicit_bzero(ours.data, ours.len);
    explicit_bzero(theirs.data, theirs.len);
    return r;
}

/* From here on the stream is protected as both sides agreed. */
static int protect(struct dn_stream *s, struct sasl **sasl, const Hdfs__HandshakeMessage *final,
                   struct err *err)
{
    enum sasl_qop qop = sasl_qop(*sasl);
    bool aes = qop == SASL_CONF && final->n_cipher_options > 0;

    trace(LOG_HDFS, "%s: signed in, %s", dn_stream_name(s), aes ? "AES" : sasl_qop_name(qop));
    if (aes)
        return use_aes(s, *sasl, final->cipher_options[0], err);
    if (qop != SASL_AUTH)
        dn_stream_wrap(s, take(*sasl));
    return 0;
}

int handshake(struct dn_stream *s, const struct handshake *h, struct err *err)
{
    AUTO_MESSAGE *challenge = NULL;
    AUTO_MESSAGE *final = NULL;
    AUTO_SASL *sasl = NULL;
    AUTO_BUF none = { .max = MESSAGE_MAX };
    int r;

    r = new_sasl(h, &sasl, err);
    if (r == 0)
        r = dn_handshake_send_first(s, h, err);
    if (r == 0)
        r = dn_handshake_read_message(s, &challenge, err);
    if (r == 0)
        r = send_response(s, sasl, challenge, err);
    if (r == 0)
        r = dn_handshake_read_message(s, &final, err);
    if (r != 0)
        return r;
    r = sasl_step(sasl, final->payload.data, final->payload.len, &none, err);
    if (r < 0)
        return err_wrap(err, r, "%s: sign in", dn_stream_name(s));
    if (!sasl_done(sasl))
        return err_set(err, -EPROTO, "%s ends the sign-in too early", dn_stream_name(s));
    return protect(s, &sasl, final, err);
}
