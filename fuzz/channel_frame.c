/* channel_frame.c - what an agent or a master sends the other, as messages behind their lengths.
 * The first byte says who. */
#include "wire/channel_frame.h"
#include "agent.pb-c.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX ((size_t)64 * 1024)

/* What was understood can be sent on, and is read again. Not always as a message: protobuf-c takes
 * an unknown field with the number 0, and does not take what it writes for it. */
static void send_on(const ProtobufCMessage *m)
{
    AUTO_BUF b = { .max = 64 * MIB };
    ProtobufCMessage *again = NULL;
    struct err err = ERR_INIT;
    size_t n;

    if (channel_pack(m, 32 * MIB, &b, &err) < 0)
        abort();
    n = b.len - CHANNEL_HEAD;
    if (channel_length(b.data, b.len, 32 * MIB, &err) != (ssize_t)n)
        abort();
    if (channel_unpack(m->descriptor, b.data + CHANNEL_HEAD, n, &again, &err) == 0)
        protobuf_c_message_free_unpacked(again, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ProtobufCMessageDescriptor *d =
        size > 0 && data[0] & 1 ? &agent__to_agent__descriptor : &agent__to_master__descriptor;
    struct err err = ERR_INIT;

    for (size_t at = 1; at < size;) {
        ProtobufCMessage *m = NULL;
        ssize_t n = channel_length(data + at, size - at, MESSAGE_MAX, &err);

        if (n < 0 || (size_t)n > size - at - CHANNEL_HEAD)
            return 0;
        if (channel_unpack(d, data + at + CHANNEL_HEAD, (size_t)n, &m, &err) == 0) {
            send_on(m);
            protobuf_c_message_free_unpacked(m, NULL);
        }
        at += CHANNEL_HEAD + (size_t)n;
    }
    return 0;
}
