/* gss_test.c - Kerberos without Kerberos.
 *
 * The real library, a KDC and a server are met in test/sasl. Here a made-up
 * library says what those never say, and the exchange must not be led astray. */
#include "hadoop/sasl/gss.h"
#include "hadoop/sasl/gss_api.h"
#include "test.h"
#include <krb5.h>
#include <string.h>

/* What the made-up library does next. Each test sets it up afresh. */
static struct fake {
    OM_uint32 init[3];    /* results of gss_init_sec_context, one per round */
    const char *sends[3]; /* and the tokens it makes then */
    int round;            /* how many there were */
    OM_uint32 minor;      /* the minor code of everything that fails */
    OM_uint32 flags;      /* of the context */
    OM_uint32 wanted;     /* what was asked for */
    OM_uint32 unwrap;     /* result of gss_unwrap */
    const char *opens;    /* the message it finds */
    size_t opens_len;
    int encrypted;    /* and whether that was encrypted */
    char wrapped[64]; /* the last message that was wrapped */
    int live_buffers, live_contexts;
} fake;

#define ALL_FLAGS (GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_CONF_FLAG)

static void give(gss_buffer_t out, const char *text, size_t n)
{
    out->value = malloc(n + 1);
    assert_non_null(out->value);
    memcpy(out->value, text, n);
    out->length = n;
    fake.live_buffers++;
}

/* The signatures are GSSAPI's own and as long as they are. */
/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter) */
#define INIT_PARAMETERS                                                                            \
    OM_uint32 *minor, gss_cred_id_t cred, gss_ctx_id_t *context, gss_name_t target,                \
        gss_OID mechanism, OM_uint32 flags, OM_uint32 time, gss_channel_bindings_t bindings,       \
        gss_buffer_t in, gss_OID *actual, gss_buffer_t out, OM_uint32 *ret_flags,                  \
        OM_uint32 *ret_time
#define WRAP_PARAMETERS                                                                            \
    OM_uint32 *minor, gss_ctx_id_t context, int encrypt, gss_qop_t qop, gss_buffer_t in,           \
        int *encrypted, gss_buffer_t out
#define ACQUIRE_PARAMETERS                                                                         \
    OM_uint32 *minor, gss_name_t name, OM_uint32 time, gss_OID_set mechs, gss_cred_usage_t usage,  \
        gss_const_key_value_set_t store, gss_cred_id_t *out, gss_OID_set *actual,                  \
        OM_uint32 *ret_time

static OM_uint32 fake_release_buffer(OM_uint32 *minor, gss_buffer_t b)
{
    *minor = 0;
    if (b->value)
        fake.live_buffers--;
    free(b->value);
    *b = (gss_buffer_desc)GSS_C_EMPTY_BUFFER;
    return GSS_S_COMPLETE;
}

static OM_uint32 fake_init(INIT_PARAMETERS)
{
    const char *token = fake.sends[fake.round];

    (void)cred, (void)target, (void)mechanism, (void)time, (void)bindings, (void)in, (void)actual,
        (void)ret_time;
    fake.live_contexts += !*context;
    *context = (gss_ctx_id_t)&fake;
    *minor = fake.minor;
    *ret_flags = fake.flags;
    fake.wanted = flags;
    if (token)
        give(out, token, strlen(token));
    return fake.init[fake.round++];
}

static OM_uint32 fake_delete(OM_uint32 *minor, gss_ctx_id_t *context, gss_buffer_t out)
{
    (void)out;
    *minor = 0;
    fake.live_contexts -= !!*context;
    *context = GSS_C_NO_CONTEXT;
    return GSS_S_COMPLETE;
}

static OM_uint32 fake_wrap(WRAP_PARAMETERS)
{
    (void)context, (void)qop;
    *minor = 0;
    if (encrypted)
        *encrypted = encrypt && fake.encrypted;
    memcpy(fake.wrapped, in->value, in->length);
    give(out, encrypt ? "sealed" : "signed", 6);
    return GSS_S_COMPLETE;
}

static OM_uint32 fake_unwrap(OM_uint32 *minor, gss_ctx_id_t context, gss_buffer_t in,
                             gss_buffer_t out, int *encrypted, gss_qop_t *qop)
{
    (void)context, (void)in, (void)qop;
    *minor = fake.minor;
    if (encrypted)
        *encrypted = fake.encrypted;
    give(out, fake.opens, fake.opens_len);
    return fake.unwrap;
}

static OM_uint32 fake_display_status(OM_uint32 *minor, OM_uint32 code, int type, gss_OID mechanism,
                                     OM_uint32 *more, gss_buffer_t out)
{
    (void)code, (void)mechanism, (void)more;
    *minor = 0;
    if (type == GSS_C_MECH_CODE && !fake.minor)
        give(out, "Success", 7);
    else
        give(out, type == GSS_C_MECH_CODE ? "a\nreason" : "a status", 8);
    return GSS_S_COMPLETE;
}

static OM_uint32 fake_import(OM_uint32 *minor, gss_buffer_t in, gss_OID type, gss_name_t *out)
{
    (void)in, (void)type;
    *minor = 0;
    *out = (gss_name_t)&fake;
    return GSS_S_COMPLETE;
}

static OM_uint32 fake_release_name(OM_uint32 *minor, gss_name_t *name)
{
    *minor = 0;
    *name = GSS_C_NO_NAME;
    return GSS_S_COMPLETE;
}

static OM_uint32 fake_acquire(ACQUIRE_PARAMETERS)
{
    (void)name, (void)time, (void)mechs, (void)usage, (void)store, (void)actual, (void)ret_time;
    *minor = 0;
    *out = (gss_cred_id_t)&fake;
    return GSS_S_COMPLETE;
}

static OM_uint32 fake_release_cred(OM_uint32 *minor, gss_cred_id_t *cred)
{
    *minor = 0;
    *cred = GSS_C_NO_CREDENTIAL;
    return GSS_S_COMPLETE;
}

/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

static const struct gss_api fake_api = {
    .gss_acquire_cred_from = fake_acquire,
    .gss_delete_sec_context = fake_delete,
    .gss_display_status = fake_display_status,
    .gss_import_name = fake_import,
    .gss_init_sec_context = fake_init,
    .gss_release_buffer = fake_release_buffer,
    .gss_release_cred = fake_release_cred,
    .gss_release_name = fake_release_name,
    .gss_unwrap = fake_unwrap,
    .gss_wrap = fake_wrap,
};

static struct sasl *client(const struct fake *f, unsigned qops)
{
    const struct sasl_gss_conf conf = { .service = "rm", .host = "h", .qops = qops };
    struct err err = ERR_INIT;
    struct sasl *s = NULL;

    fake = *f;
    assert_int_equal(gss_new_with(&fake_api, &conf, &s, &err), 0);
    return s;
}

/* Ends a client, and with it everything that it had of the library. */
static void end(struct sasl *s, struct buf *out)
{
    sasl_free(s);
    buf_done(out);
    assert_int_equal(fake.live_buffers, 0);
    assert_int_equal(fake.live_contexts, 0);
}

/* A library that agrees to everything, with an offer of `set`. */
#define GOOD(set)                                                                                  \
    {                                                                                              \
        .sends = { "request" }, .init = { GSS_S_CONTINUE_NEEDED, GSS_S_COMPLETE },                 \
        .flags = ALL_FLAGS, .opens = set "\1\0\0", .opens_len = 4, .encrypted = 1,                 \
    }

/* Goes through the exchange; returns the result of its last step. */
static int log_in(struct sasl *s, struct buf *out, struct err *err)
{
    int r;

    buf_init(out, 1000);
    r = sasl_step(s, NULL, 0, out, err);
    if (r == 0)
        r = sasl_step(s, "reply", 5, out, err);
    return r < 0 ? r : sasl_step(s, "offer", 5, out, err);
}

static void the_strongest_protection_both_allow_is_taken(void **state)
{
    static const struct {
        struct fake fake;
        unsigned qops;
        int code;
        enum sasl_qop qop;
        const char *choice;
    } rows[] = {
        { GOOD("\7"), SASL_QOP_ANY, 0, SASL_CONF, "\4\1\0\0" },
        { GOOD("\3"), SASL_QOP_ANY, 0, SASL_INT, "\2\1\0\0" },
        { GOOD("\1"), SASL_QOP_ANY, 0, SASL_AUTH, "\1\0\0\0" },
        { GOOD("\7"), SASL_QOP_BIT(SASL_INT), 0, SASL_INT, "\2\1\0\0" },
        { GOOD("\3"), SASL_QOP_BIT(SASL_CONF), -EPERM, SASL_AUTH, "" },
        { GOOD("\x08"), SASL_QOP_ANY, -EPERM, SASL_AUTH, "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sasl *s = client(&rows[i].fake, rows[i].qops);
        struct err err = ERR_INIT;
        struct buf out;

        if (log_in(s, &out, &err) != rows[i].code)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(sasl_done(s), rows[i].code == 0);
        if (rows[i].code == 0) {
            assert_int_equal(sasl_qop(s), rows[i].qop);
            assert_memory_equal(fake.wrapped, rows[i].choice, 4);
            assert_string_equal(buf_text(&out), "requestsigned");
        }
        end(s, &out);
    }
}

static void encryption_is_asked_for_only_where_it_is_allowed(void **state)
{
    static const struct fake good = GOOD("\7");
    struct err err = ERR_INIT;
    struct sasl *s = client(&good, SASL_QOP_ANY);
    struct buf out;

    (void)state;
    assert_int_equal(log_in(s, &out, &err), 0);
    assert_int_equal(fake.wanted, ALL_FLAGS | GSS_C_SEQUENCE_FLAG);
    end(s, &out);
    s = client(&good, SASL_QOP_BIT(SASL_AUTH) | SASL_QOP_BIT(SASL_INT));
    assert_int_equal(log_in(s, &out, &err), 0);
    assert_int_equal(fake.wanted, GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_SEQUENCE_FLAG);
    end(s, &out);
}

static void a_library_may_take_more_rounds_or_fewer(void **state)
{
    static const struct fake fewer = {
        .sends = { "only" },
        .init = { GSS_S_COMPLETE },
        .flags = ALL_FLAGS,
        .opens = "\1\0\0",
        .opens_len = 4,
    };
    static const struct fake more = {
        .sends = { "one", "two", "three" },
        .init = { GSS_S_CONTINUE_NEEDED, GSS_S_CONTINUE_NEEDED, GSS_S_COMPLETE },
        .flags = ALL_FLAGS,
        .opens = "\1\0\0",
        .opens_len = 4,
    };
    struct sasl *s = client(&fewer, SASL_QOP_ANY);
    struct err err = ERR_INIT;
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(sasl_step(s, NULL, 0, &out, &err), 0);
    assert_int_equal(sasl_step(s, "offer", 5, &out, &err), 0);
    assert_true(sasl_done(s));
    end(s, &out);

    s = client(&more, SASL_QOP_ANY);
    assert_int_equal(log_in(s, &out, &err), 0);
    assert_false(sasl_done(s));
    assert_int_equal(sasl_step(s, "offer", 5, &out, &err), 0);
    assert_true(sasl_done(s));
    assert_string_equal(buf_text(&out), "onetwothreesigned");
    end(s, &out);
}

static void a_context_that_proves_too_little_is_refused(void **state)
{
    static const struct {
        OM_uint32 flags;
        int code;
        const char *says;
    } rows[] = {
        { GSS_C_INTEG_FLAG | GSS_C_CONF_FLAG, -EACCES, "'rm@h' did not prove who it is" },
        { GSS_C_MUTUAL_FLAG, -EPERM, "'rm@h' cannot protect messages" },
        { GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, -EPERM, "no protection level in common" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fake f = GOOD("\4");
        struct err err = ERR_INIT;
        struct sasl *s;
        struct buf out;

        f.flags = rows[i].flags;
        s = client(&f, SASL_QOP_ANY);
        assert_int_equal(log_in(s, &out, &err), rows[i].code);
        assert_non_null(strstr(err.text, rows[i].says));
        end(s, &out);
    }
}

static void an_offer_that_is_none_is_refused(void **state)
{
    static const struct {
        size_t len;
        OM_uint32 unwrap;
        int code;
    } rows[] = {
        { 0, GSS_S_COMPLETE, -EPROTO },         { 3, GSS_S_COMPLETE, -EPROTO },
        { 5, GSS_S_COMPLETE, -EPROTO },         { 4, GSS_S_BAD_SIG, -EBADMSG },
        { 4, GSS_S_DUPLICATE_TOKEN, -EBADMSG },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fake f = GOOD("\7");
        struct err err = ERR_INIT;
        struct sasl *s;
        struct buf out;

        f.unwrap = rows[i].unwrap;
        f.opens_len = rows[i].len;
        s = client(&f, SASL_QOP_ANY);
        assert_int_equal(log_in(s, &out, &err), rows[i].code);
        assert_int_equal(err.code, rows[i].code);
        end(s, &out);
    }
}

static void tokens_at_the_wrong_time_are_refused(void **state)
{
    static const struct fake good = GOOD("\7");
    struct sasl *s = client(&good, SASL_QOP_ANY);
    AUTO_FREE char *large = calloc(1, 70000);
    struct err err = ERR_INIT;
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(sasl_step(s, NULL, 0, &out, &err), 0);
    assert_int_equal(sasl_step(s, NULL, 0, &out, &err), -EPROTO);
    assert_string_equal(err.text, "Kerberos: 'rm@h' sent an empty token");
    end(s, &out);
    s = client(&good, SASL_QOP_ANY);
    assert_int_equal(sasl_step(s, large, 70000, &out, &err), -EPROTO);
    assert_string_equal(err.text, "Kerberos: 'rm@h' sent a token of 70000 bytes");
    end(s, &out);
}

static void only_a_fresh_and_encrypted_message_passes(void **state)
{
    static const struct {
        OM_uint32 unwrap;
        int encrypted, code;
        const char *says;
    } rows[] = {
        { GSS_S_COMPLETE, 1, 0, "" },
        { GSS_S_COMPLETE, 0, -EBADMSG, "was not encrypted" },
        { GSS_S_BAD_SIG, 1, -EBADMSG, "was damaged or forged" },
        { GSS_S_DUPLICATE_TOKEN, 1, -EBADMSG, "came twice or out of order" },
        { GSS_S_OLD_TOKEN, 1, -EBADMSG, "came twice or out of order" },
        { GSS_S_UNSEQ_TOKEN, 1, -EBADMSG, "came twice or out of order" },
        { GSS_S_GAP_TOKEN, 1, -EBADMSG, "came twice or out of order" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        static const struct fake good = GOOD("\7");
        struct sasl *s = client(&good, SASL_QOP_ANY);
        struct err err = ERR_INIT;
        struct buf out;

        assert_int_equal(log_in(s, &out, &err), 0);
        buf_reset(&out);
        fake.unwrap = rows[i].unwrap;
        fake.encrypted = rows[i].encrypted;
        assert_int_equal(sasl_unwrap(s, "token", 5, &out, &err), rows[i].code);
        assert_int_equal(out.len, rows[i].code ? 0 : 4);
        assert_non_null(strstr(err.text, rows[i].says));
        end(s, &out);
    }
}

static void a_message_that_cannot_be_encrypted_is_not_sent(void **state)
{
    static const struct fake good = GOOD("\7");
    struct sasl *s = client(&good, SASL_QOP_ANY);
    struct err err = ERR_INIT;
    struct buf out;

    (void)state;
    assert_int_equal(log_in(s, &out, &err), 0);
    buf_reset(&out);
    assert_int_equal(sasl_wrap(s, "m", 1, &out, &err), 0);
    assert_string_equal(buf_text(&out), "sealed");
    out.max = out.len + 2;
    assert_int_equal(sasl_wrap(s, "m", 1, &out, &err), -E2BIG);
    end(s, &out);
    s = client(&good, SASL_QOP_ANY);
    assert_int_equal(log_in(s, &out, &err), 0);
    fake.encrypted = 0;
    assert_int_equal(sasl_wrap(s, "m", 1, &out, &err), -EPERM);
    end(s, &out);
}

static void causes_get_a_code_and_a_remedy(void **state)
{
    static const struct {
        OM_uint32 major;
        int32_t minor;
        int code;
        const char *hint, *text;
    } rows[] = {
        { GSS_S_FAILURE, KRB5KRB_AP_ERR_SKEW, -EKEYREJECTED, "time", "x 1: a reason" },
        { GSS_S_FAILURE, KRB5KRB_AP_ERR_TKT_EXPIRED, -EKEYEXPIRED, "kinit", "x 1: a reason" },
        { GSS_S_FAILURE, KRB5_KDC_UNREACH, -EHOSTUNREACH, "krb5.conf", "x 1: a reason" },
        { GSS_S_FAILURE, KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, -EACCES, "server", "x 1: a reason" },
        { GSS_S_FAILURE, 12345, -EACCES, "", "x 1: a reason" },
        { GSS_S_NO_CRED, 12345, -ENOKEY, "kinit", "x 1: a reason" },
        { GSS_S_CREDENTIALS_EXPIRED, 0, -EKEYEXPIRED, "kinit", "x 1: a status" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct gss_result r = { rows[i].major, (OM_uint32)rows[i].minor };
        struct err err = ERR_INIT;

        fake = (struct fake){ .minor = r.minor };
        assert_int_equal(gss_api_fail(&fake_api, r, &err, "x %d", 1), rows[i].code);
        assert_non_null(strstr(err.hint, rows[i].hint));
        assert_non_null(strstr(err.text, rows[i].text));
        assert_int_equal(fake.live_buffers, 0);
    }
}

static void a_missing_library_is_named(void **state)
{
    static const struct {
        const char *library, *says;
    } rows[] = {
        { "/nonexistent", "Kerberos: /nonexistent: cannot open shared object file" },
        { "libm.so.6", "Kerberos: libm.so.6: no gss_acquire_cred_from" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct sasl_gss_conf conf = { .service = "rm", .host = "h", .qops = SASL_QOP_ANY };
        struct err err = ERR_INIT;
        AUTO_SASL *s = NULL;

        setenv("YDL_GSSAPI_LIB", rows[i].library, 1);
        assert_int_equal(sasl_gss_new(&conf, &s, &err), -EOPNOTSUPP);
        assert_non_null(strstr(err.text, rows[i].says));
        assert_non_null(strstr(err.hint, "install"));
        assert_int_equal(gss_identity(&conf.who, NULL, NULL, &err), -EOPNOTSUPP);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strongest_protection_both_allow_is_taken),
        cmocka_unit_test(encryption_is_asked_for_only_where_it_is_allowed),
        cmocka_unit_test(a_library_may_take_more_rounds_or_fewer),
        cmocka_unit_test(a_context_that_proves_too_little_is_refused),
        cmocka_unit_test(an_offer_that_is_none_is_refused),
        cmocka_unit_test(tokens_at_the_wrong_time_are_refused),
        cmocka_unit_test(only_a_fresh_and_encrypted_message_passes),
        cmocka_unit_test(a_message_that_cannot_be_encrypted_is_not_sent),
        cmocka_unit_test(causes_get_a_code_and_a_remedy),
        cmocka_unit_test(a_missing_library_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
