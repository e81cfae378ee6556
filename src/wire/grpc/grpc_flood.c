/* grpc_flood.c - a bucket of tokens. Each frame takes some and time brings more, slowly; so does
 * each call that ends well, and each piece of an answer that was sent, which a client acknowledges
 * with frames of its own. See grpc_flood.h. */
#include "wire/grpc/grpc_flood.h"

#include <nghttp2/nghttp2.h>

#define FULL 2000    /* and what a connection begins with */
#define A_SECOND 500 /* that time alone brings */
#define ANSWERED 8
#define LARGE_DATA 1024 /* bytes of a DATA frame that is no trick */
#define PIECE (8 * 1024)

static void flood_add(struct grpc_flood *f, int64_t n)
{
    f->tokens = f->tokens + n < FULL ? f->tokens + n : FULL;
}

void grpc_flood_init(struct grpc_flood *f, int64_t now)
{
    *f = (struct grpc_flood){ .tokens = FULL, .at = now };
}

/* A reset costs most: it throws away what was begun. */
static int64_t price(uint8_t type, size_t n)
{
    if (type == NGHTTP2_DATA && n >= LARGE_DATA)
        return 0;
    return type == NGHTTP2_RST_STREAM ? 3 : 1;
}

bool grpc_flood_frame(struct grpc_flood *f, uint8_t type, size_t n, int64_t now)
{
    int64_t more = (now - f->at) * A_SECOND / 1000;

    if (more > 0) {
        flood_add(f, more);
        f->at = now;
    }
    f->tokens -= price(type, n);
    return f->tokens >= 0;
}

void grpc_flood_answered(struct grpc_flood *f)
{
    flood_add(f, ANSWERED);
}

void grpc_flood_sent(struct grpc_flood *f, size_t n)
{
    flood_add(f, (int64_t)(n / PIECE) + 1);
}
