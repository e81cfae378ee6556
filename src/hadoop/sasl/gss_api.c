/* gss_api.c - loads libgssapi_krb5 by name and finds its functions. An error is the mechanism's
 * words where it has any, and a hint from a table of causes. See gss_api.h. */
#include "hadoop/sasl/gss_api.h"
#include "base/auto.h"
#include "base/dl.h"
#include "hadoop/sasl/hint.h"

#include <krb5.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libgssapi_krb5.so.2"

int gss_api_load(struct gss_api *ret, struct err *err)
{
    const char *library = secure_getenv("YDL_GSSAPI_LIB");
    const struct dl_symbol symbols[] = {
#define GSS_API_ROW(fn) { #fn, (void **)&ret->fn },
        GSS_API_FUNCTIONS(GSS_API_ROW)
#undef GSS_API_ROW
    };
    void *handle;
    int r =
        dl_load(library && *library ? library : LIBRARY, symbols, COUNT_OF(symbols), &handle, err);

    if (r < 0) {
        err_wrap(err, r, "Kerberos");
        err_hint(err, "install MIT Kerberos' library: libgssapi-krb5-2 (Debian), krb5-libs (Red "
                      "Hat)");
    }
    return r;
}

/* The library's interface takes no const, but it does not write to these. The library has these as
 * variables of its own, and only functions are looked up in it. As bytes of BER they are
 *
 *     1.2.840.113554.1.2.2        the mechanism: Kerberos 5
 *     1.2.840.113554.1.2.1.4      a name of the form service@host
 *     1.2.840.113554.1.2.2.1      a principal */
#define OID(fn, bytes)                                                                             \
    gss_OID fn(void)                                                                               \
    {                                                                                              \
        static const char elements[] = bytes;                                                      \
        static const gss_OID_desc oid = { sizeof(elements) - 1, (void *)(uintptr_t)elements };     \
                                                                                                   \
        return (gss_OID)(uintptr_t)&oid;                                                           \
    }

OID(gss_api_krb5, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")
OID(gss_api_host_name, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04")
OID(gss_api_principal, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01")

/* The hints. No two causes with the same remedy have two. */
static const char get_ticket[] = "run kinit to get a ticket, or give --principal and --keytab";
static const char find_kdc[] = "check [realms] in krb5.conf (KRB5_CONFIG names another), and that "
                               "this machine reaches the KDC's port 88";
static const char look_server[] = "no such server principal: compare the *.principal settings, and "
                                  "the host name that this machine uses for the server";
static const char look_client[] = "no such user: check the name and realm of --principal";
static const char new_keytab[] = "the key is not the principal's current one: export the keytab "
                                 "again, or run kinit with the right password";
static const char look_keytab[] = "see whose keys are in it with klist -k";
static const char new_password[] = "the password has expired: run kpasswd";
static const char look_conf[] = "check krb5.conf (KRB5_CONFIG names another)";

static const struct cause {
    int32_t minor;
    int code;
    const char *hint;
} causes[] = {
    /* clang-format off */
    { KRB5_FCC_NOFILE,                 -ENOKEY,       get_ticket },
    { KRB5_CC_NOTFOUND,                -ENOKEY,       get_ticket },
    { KRB5KRB_AP_ERR_NO_TGT,           -ENOKEY,       get_ticket },
    { KRB5KRB_AP_ERR_TKT_EXPIRED,      -EKEYEXPIRED,  sasl_hint_ticket },
    { KRB5KRB_AP_ERR_SKEW,             -EKEYREJECTED, sasl_hint_clock },
    { KRB5KRB_AP_ERR_TKT_NYV,          -EKEYREJECTED, sasl_hint_clock },
    { KRB5_KDCREP_SKEW,                -EKEYREJECTED, sasl_hint_clock },
    { KRB5_KDC_UNREACH,                -EHOSTUNREACH, find_kdc },
    { KRB5_REALM_UNKNOWN,              -EHOSTUNREACH, find_kdc },
    { KRB5_REALM_CANT_RESOLVE,         -EHOSTUNREACH, find_kdc },
    { KRB5KDC_ERR_SVC_UNAVAILABLE,     -EHOSTUNREACH, find_kdc },
    { KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, -EACCES,       look_server },
    { KRB5_ERR_HOST_REALM_UNKNOWN,     -EACCES,       look_server },
    { KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, -EACCES,       look_client },
    { KRB5KDC_ERR_WRONG_REALM,         -EACCES,       look_client },
    { KRB5KDC_ERR_CLIENT_REVOKED,      -EACCES,       NULL },
    { KRB5KDC_ERR_POLICY,              -EACCES,       NULL },
    { KRB5KDC_ERR_KEY_EXP,             -EKEYEXPIRED,  new_password },
    { KRB5KDC_ERR_PREAUTH_FAILED,      -EKEYREJECTED, new_keytab },
    { KRB5KRB_AP_ERR_BAD_INTEGRITY,    -EKEYREJECTED, new_keytab },
    { KRB5KRB_AP_ERR_MODIFIED,         -EKEYREJECTED, sasl_hint_server_key },
    { KRB5KRB_AP_ERR_BADKEYVER,        -EKEYREJECTED, sasl_hint_server_key },
    { KRB5KRB_AP_ERR_NOKEY,            -EKEYREJECTED, sasl_hint_server_key },
    { KRB5_KT_NOTFOUND,                -ENOKEY,       look_keytab },
    { KRB5_KT_FORMAT,                  -EINVAL,       look_keytab },
    { KRB5_CONFIG_CANTOPEN,            -EINVAL,       look_conf },
    { KRB5_CONFIG_BADFORMAT,           -EINVAL,       look_conf },
    { KRB5_CONFIG_NODEFREALM,          -EINVAL,       look_conf },
    { ENOMEM,                          -ENOMEM,       NULL },
    { EACCES,                          -EACCES,       NULL },
    /* clang-format on */
};

/* Where the mechanism's own code says nothing. */
static const struct {
    OM_uint32 major;
    int code;
    const char *hint;
} routine_causes[] = {
    { GSS_S_NO_CRED, -ENOKEY, get_ticket },
    { GSS_S_CREDENTIALS_EXPIRED, -EKEYEXPIRED, sasl_hint_ticket },
    { GSS_S_BAD_NAME, -EINVAL, NULL },
};

static int find_cause(struct gss_result r, const char **ret_hint)
{
    *ret_hint = NULL;
    for (size_t i = 0; i < COUNT_OF(causes); i++)
        if (r.minor && causes[i].minor == (int32_t)r.minor) {
            *ret_hint = causes[i].hint;
            return causes[i].code;
        }
    for (size_t i = 0; i < COUNT_OF(routine_causes); i++)
        if (GSS_ROUTINE_ERROR(r.major) == routine_causes[i].major) {
            *ret_hint = routine_causes[i].hint;
            return routine_causes[i].code;
        }
    return -EACCES;
}

/* The library's words for one code, on one line; false when it has none. */
static bool gss_api_words(const struct gss_api *api, OM_uint32 code, int type, char *out,
                          size_t size)
{
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor, more = 0;
    OM_uint32 major = api->gss_display_status(&minor, code, type, gss_api_krb5(), &more, &text);

    snprintf(out, size, "%.*s", GSS_ERROR(major) ? 0 : (int)text.length, (char *)text.value);
    for (char *s = out; *s; s++)
        if (*s == '\n')
            *s = ' ';
    api->gss_release_buffer(&minor, &text);
    return *out && strcmp(out, "Success") != 0;
}

/* The mechanism's code says more than the general one, if it says anything. */
static void gss_api_describe(const struct gss_api *api, struct gss_result r, char *out, size_t size)
{
    if (!gss_api_words(api, r.minor, GSS_C_MECH_CODE, out, size) &&
        !gss_api_words(api, r.major, GSS_C_GSS_CODE, out, size))
        snprintf(out, size, "GSSAPI error %x, %x", r.major, r.minor);
}

int gss_api_fail(const struct gss_api *api, struct gss_result r, struct err *err, const char *fmt,
                 ...)
{
    char what[160], text[300];
    const char *hint;
    int code = find_cause(r, &hint);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    gss_api_describe(api, r, text, sizeof(text));
    err_set(err, code, "Kerberos: %s: %s", what, text);
    if (hint)
        err_hint(err, "%s", hint);
    return code;
}

int gss_api_name(const struct gss_api *api, const char *text, gss_OID type, gss_name_t *ret,
                 struct err *err)
{
    gss_buffer_desc name = { strlen(text), (void *)(uintptr_t)text };
    struct gss_result r;

    r.major = api->gss_import_name(&r.minor, &name, type, ret);
    return GSS_ERROR(r.major) ? gss_api_fail(api, r, err, "the name '%s'", text) : 0;
}
