/* admission_first.c - see admission.h: is a peer's first message complete? Nothing is parsed beyond
 * what tells where it ends; whoever gets the connection does that. */
#include "wire/admission.h"

#include <ctype.h>
#include <string.h>

#define HELLO_MAX 4096 /* bytes of a ClientHello; ours have some 300 */
#define HEAD_MAX 8000  /* of a request's head that is waited for here */
#define RECORD_HEAD 5
#define RECORD_HANDSHAKE 0x16
#define CLIENT_HELLO 1

/* TLS: type, version (3.x), length; then the message, whose first byte says what it is.
 *
 *     16 handshake | 03 0x version | length, 2 BE | 01 ClientHello, …
 *
 * A first record that is complete is enough. Clients put the whole greeting into it. */
int admission_first_tls(const uint8_t *p, size_t n, struct err *err)
{
    size_t length;

    if ((n > 0 && p[0] != RECORD_HANDSHAKE) || (n > 1 && p[1] != 3))
        return err_set(err, -EPROTO, "it does not speak TLS");
    if (n < RECORD_HEAD)
        return 0;
    length = (size_t)p[3] << 8 | p[4];
    if (length == 0 || length > HELLO_MAX)
        return err_set(err, -EPROTO, "a TLS greeting of %zu bytes", length);
    if (n > RECORD_HEAD && p[RECORD_HEAD] != CLIENT_HELLO)
        return err_set(err, -EPROTO, "it does not begin with a TLS greeting");
    return n >= RECORD_HEAD + length;
}

/* A head that is larger than what is waited for here goes in as it is; whoever reads it has limits
 * of its own. */
int admission_first_http(const uint8_t *p, size_t n, struct err *err)
{
    (void)err;
    if (n > 0 && !isupper(p[0]))
        return 1; /* no request: it is told so */
    return n >= HEAD_MAX || (n > 0 && (memmem(p, n, "\r\n\r\n", 4) || memmem(p, n, "\n\n", 2)));
}
