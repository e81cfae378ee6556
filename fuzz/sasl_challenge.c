/* sasl_challenge.c - what a DIGEST-MD5 server says before anybody has proved anything. */
#include "fuzz.h"
#include "hadoop/sasl/challenge.h"
#include "hadoop/sasl/digest.h"

#include <stdlib.h>
#include <string.h>

/* The parser alone. */
static void parse(const uint8_t *data, size_t size)
{
    AUTO_CHALLENGE c = { 0 };
    struct err err = ERR_INIT;
    char proof[MD5_TEXT];
    int r = challenge_parse(data, size, &c, &err);

    if (r == 0 && (!c.nonce || !*c.nonce || !c.qops))
        abort();
    if ((r < 0) != (err.text[0] != '\0'))
        abort(); /* a failure without a sentence, or the other way round */
    err_clear(&err);
    if (challenge_rspauth(data, size, proof, &err) == 0 && strlen(proof) != MD5_TEXT - 1)
        abort();
}

/* A client that answers it, and takes the same bytes for the server's last token. */
static void answer(const uint8_t *data, size_t size)
{
    const struct sasl_digest_conf conf = {
        .username = "me",
        .password = "secret",
        .protocol = "",
        .server_id = "default",
        .qops = SASL_QOP_ANY,
        .cnonce = "OA6MHXh6VqTrRk",
    };
    struct err err = ERR_INIT;
    AUTO_SASL *s = NULL;
    AUTO_BUF out = { .max = 64 * KIB };

    if (sasl_digest_new(&conf, &s, &err) < 0)
        abort();
    if (sasl_step(s, data, size, &out, &err) < 0) {
        if (out.len)
            abort();
        return;
    }
    buf_reset(&out);
    if (sasl_step(s, data, size, &out, &err) == 0 && sasl_done(s))
        abort(); /* no challenge is its own proof */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size);
    answer(data, size);
    return 0;
}
