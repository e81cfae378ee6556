/* rabit_message.c - what a worker, or anybody, says to the rabit tracker: hello, then its links. */
#include "fuzz.h"
#include "rendezvous/rabit_wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rabit_hello h;
    struct rabit_good g;
    struct err err = ERR_INIT;
    ssize_t n = rabit_parse_hello(data, size, &h, &err);

    if (n > 0 && ((size_t)n > size || h.size != (size_t)n || h.text_n > size))
        abort();
    if (n <= 0)
        n = 0;
    while ((size_t)n < size) {
        ssize_t more = rabit_parse_good(data + n, size - (size_t)n, &g, &err);

        if (more <= 0)
            break;
        if (g.n < 0 || g.n > RABIT_LINKS_MAX || (size_t)more > size - (size_t)n)
            abort();
        n += more;
    }
    return 0;
}
