/* sasl_unwrap.c - protected messages from a DIGEST-MD5 server.
 *
 * The first byte chooses the protection and what is done with the rest: 0 takes it for a token as
 * it stands, 1 has a server protect it (it must come out the same), 2 does that too and changes one
 * byte of the token, which the next two bytes name (it must be refused). */
#include "fuzz.h"
#include "hadoop/sasl/digest.h"
#include "sasl/digest_peer.h"

static const char *const ciphers[] = { NULL, "3des", "rc4", "des", "rc4-56", "rc4-40" };

#define MODES (sizeof(ciphers) / sizeof(ciphers[0]))

/* A client and a server that are through with the exchange. The nonces are fixed, so tokens of the
 * corpus stay valid. */
static struct sasl *start(const char *cipher, struct peer *p)
{
    const struct sasl_digest_conf conf = {
        .username = "me",
        .password = "secret",
        .protocol = "",
        .server_id = "default",
        .qops = SASL_QOP_BIT(cipher ? SASL_CONF : SASL_INT),
        .ciphers = cipher,
        .cnonce = "OA6MHXh6VqTrRk",
    };
    char text[512], last[64];
    struct err err = ERR_INIT;
    struct sasl *s = NULL;
    AUTO_BUF out = { .max = 4 * KIB };
    size_t n;

    n = peer_challenge(p, "auth-int,auth-conf", "3des,rc4,des,rc4-56,rc4-40", text, sizeof(text));
    if (sasl_digest_new(&conf, &s, &err) < 0 || sasl_step(s, text, n, &out, &err) < 0 ||
        !peer_accept(p, buf_text(&out), last) || sasl_step(s, last, strlen(last), &out, &err) < 0 ||
        !sasl_done(s))
        abort();
    return s;
}

/* The server's token for the message; the caller frees it. */
static uint8_t *protect(struct peer *p, const uint8_t *message, size_t n, size_t *ret_n)
{
    uint8_t *token = malloc(n + 24);

    if (!token)
        abort();
    *ret_n = peer_wrap(p, message, n, token);
    return token;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peer p = { "me", "secret", "default" };
    AUTO_FREE uint8_t *token = NULL;
    struct err err = ERR_INIT;
    size_t n, action, at = 0;
    AUTO_BUF out = { .max = 64 * KIB };
    int r;

    if (size < 3)
        return 0;
    AUTO_SASL *s = start(ciphers[data[0] % MODES], &p);
    action = data[0] / MODES % 3;
    if (action == 0) {
        (void)sasl_unwrap(s, data + 1, size - 1, &out, &err);
        return 0;
    }
    token = protect(&p, data + 3, size - 3, &n);
    if (action == 2) {
        at = ((size_t)data[1] << 8 | data[2]) % n;
        token[at] ^= 0x40;
    }
    r = sasl_unwrap(s, token, n, &out, &err);
    if (action == 2 && (r != -EBADMSG || out.len))
        abort();
    if (action == 1 &&
        (r < 0 || out.len != size - 3 || (out.len && memcmp(out.data, data + 3, out.len) != 0)))
        abort();
    return 0;
}
