/* credentials.c - a hostile credentials file, and hostile identifiers inside its tokens. */
#include "hadoop/token/credentials.h"
#include "base/buf.h"
#include "fuzz.h"
#include "hadoop/token/ident.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { KIND_HDFS, KIND_RM };

static void read_identifier(const uint8_t *data, size_t size)
{
    struct block_secret s;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        AUTO_IDENT ident = { 0 };

        (void)ident_parse(kinds[i], data, size, &ident, NULL);
    }
    if (ident_block_secret(data, size, &s, &err) == 0)
        block_secret_done(&s);
}

/* What was read once must come out the same when it is written and read again. */
static void read_again(const struct credentials *c)
{
    AUTO_CREDENTIALS *again = NULL;
    AUTO_BUF b = { .max = 32 * MIB };
    AUTO_BUF b2 = { .max = 32 * MIB };
    struct err err = ERR_INIT;

    if (credentials_write(c, &b, &err) < 0)
        return;
    if (credentials_parse(b.data, b.len, &again, &err) < 0)
        abort();
    if (credentials_write(again, &b2, &err) < 0 || b2.len != b.len ||
        memcmp(b.data, b2.data, b.len) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CREDENTIALS *c = NULL;
    struct err err = ERR_INIT;

    read_identifier(data, size);
    if (credentials_parse(data, size, &c, &err) < 0)
        return 0;
    for (size_t i = 0; i < credentials_count(c); i++) {
        const struct token *t = credentials_at(c, i, NULL);

        read_identifier(t->id, t->id_len);
    }
    read_again(c);
    return 0;
}
