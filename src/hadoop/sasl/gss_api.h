/* gss_api.h - the functions of the Kerberos library, and its errors in our words. For the
 * gss files and their tests only.
 *
 * The table belongs to its creator: there is no global state. Any thread. */
#pragma once
#include "base/err.h"
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <stdbool.h>

#define GSS_API_FUNCTIONS(X)                                                                       \
    X(gss_acquire_cred_from)                                                                       \
    X(gss_delete_sec_context)                                                                      \
    X(gss_display_name)                                                                            \
    X(gss_display_status)                                                                          \
    X(gss_import_name)                                                                             \
    X(gss_init_sec_context)                                                                        \
    X(gss_inquire_cred)                                                                            \
    X(gss_release_buffer)                                                                          \
    X(gss_release_cred)                                                                            \
    X(gss_release_name)                                                                            \
    X(gss_unwrap)                                                                                  \
    X(gss_wrap)

struct gss_api {
#define GSS_API_MEMBER(fn) __typeof__(fn) *fn;
    GSS_API_FUNCTIONS(GSS_API_MEMBER)
#undef GSS_API_MEMBER
};

/* Fills the table; -EOPNOTSUPP when the library is missing. It stays loaded. */
int gss_api_load(struct gss_api *ret, struct err *err);

/* The object identifier of Kerberos 5. The library's own is data, not a function; this one is the
 * same. */
gss_OID gss_api_krb5(void);

/* What a call returned. */
struct gss_result {
    OM_uint32 major, minor;
};

/* Turns a failure into an error: "Kerberos: WHAT: the library's text", with a code and a hint where
 * the cause is a known one. Returns the code. */
int gss_api_fail(const struct gss_api *api, struct gss_result r, struct err *err, const char *fmt,
                 ...) __attribute__((format(printf, 4, 5)));

/* Makes a name of the kind `type`; *ret is the caller's: gss_release_name. */
int gss_api_name(const struct gss_api *api, const char *text, gss_OID type, gss_name_t *ret,
                 struct err *err);
gss_OID gss_api_host_name(void); /* "service@host" */
gss_OID gss_api_principal(void); /* "name/host@REALM" */

/* sasl_gss_new() with a table that is there already, a test's for example. */
struct sasl_gss_conf;
struct sasl;
int gss_new_with(const struct gss_api *api, const struct sasl_gss_conf *conf, struct sasl **ret,
                 struct err *err);
