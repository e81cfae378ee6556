/* gss_cred.c - a keytab is opened into a cache in memory that is named after it and its
 * principal, so that one login serves all servers of this process. See gss_cred.h and gss.h. */
#include "hadoop/sasl/gss_cred.h"
#include "base/auto.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Asks for initiator's credentials of `name` (NULL: any) from `store`. */
static int acquire(const struct gss_api *api, gss_name_t name, gss_const_key_value_set_t store,
                   gss_cred_id_t *ret, struct gss_result *r)
{
    gss_OID_set_desc mechanisms = { 1, gss_api_krb5() };

    r->major = api->gss_acquire_cred_from(&r->minor, name, GSS_C_INDEFINITE, &mechanisms,
                                          GSS_C_INITIATE, store, ret, NULL, NULL);
    return GSS_ERROR(r->major) ? -1 : 0;
}

/* Whether the file can be read and begins as keytabs do. The library itself falls back to the
 * ticket cache without a word about a keytab that is none. */
static int gss_check_keytab(const char *path, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t magic[2] = { 0 };

    if (fd < 0 || read(fd, magic, sizeof(magic)) < 0)
        return err_sys(err, "Kerberos: the keytab '%s'", path);
    if (magic[0] != 5 || magic[1] < 1 || magic[1] > 2)
        return err_set(err, -EINVAL, "Kerberos: '%s' is not a keytab", path);
    return 0;
}

/* Says why a keytab gave no credentials. Whatever the library says about caches then is beside the
 * point: it found no key, and looked there. */
static int keytab_fail(const struct gss_api *api, const struct gss_who *who, struct gss_result r,
                       struct err *err)
{
    int code = gss_api_fail(api, r, err, "log in with the keytab '%s'", who->keytab);

    if (code != -ENOKEY)
        return code;
    if (who->principal)
        err_set(err, code, "Kerberos: the keytab '%s' has no key of '%s'", who->keytab,
                who->principal);
    else
        err_set(err, code, "Kerberos: the keytab '%s' has no key at all", who->keytab);
    err_hint(err, "see whose keys are in it with klist -k '%s'", who->keytab);
    return code;
}

/* The keytab's key opens a cache in memory that later exchanges of this process find again: one
 * login, however many servers. Its name contains keytab and principal, so that no other login uses
 * it. With a "client_keytab" the library gets the ticket by itself when the cache has none, or one
 * that ends soon. */
static int from_keytab(const struct gss_api *api, const struct gss_who *who, gss_name_t name,
                       gss_cred_id_t *ret, struct err *err)
{
    AUTO_FREE char *keytab = str_printf("FILE:%s", who->keytab);
    AUTO_FREE char *cache =
        str_printf("MEMORY:ydl:%s:%s", who->principal ? who->principal : "", who->keytab);
    gss_key_value_element_desc elements[] = { { "client_keytab", keytab }, { "ccache", cache } };
    const gss_key_value_set_desc store = { COUNT_OF(elements), elements };
    struct gss_result result;
    int r;

    if (!keytab || !cache)
        return err_oom(err);
    r = gss_check_keytab(who->keytab, err);
    if (r < 0)
        return r;
    if (acquire(api, name, &store, ret, &result) < 0)
        return keytab_fail(api, who, result, err);
    return 0;
}

static int from_cache(const struct gss_api *api, const struct gss_who *who, gss_name_t name,
                      gss_cred_id_t *ret, struct err *err)
{
    struct gss_result r;

    if (acquire(api, name, GSS_C_NO_CRED_STORE, ret, &r) == 0)
        return 0;
    if (who->principal)
        return gss_api_fail(api, r, err, "the ticket of '%s'", who->principal);
    return gss_api_fail(api, r, err, "the ticket cache");
}

int gss_cred_get(const struct gss_api *api, const struct gss_who *who, gss_cred_id_t *ret,
                 struct err *err)
{
    gss_name_t name = GSS_C_NO_NAME;
    OM_uint32 minor;
    int r = 0;

    if (who->principal)
        r = gss_api_name(api, who->principal, gss_api_principal(), &name, err);
    if (r == 0)
        r = who->keytab ? from_keytab(api, who, name, ret, err)
                        : from_cache(api, who, name, ret, err);
    api->gss_release_name(&minor, &name);
    return r;
}

static int name_text(const struct gss_api *api, gss_name_t name, char **ret, struct err *err)
{
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    struct gss_result r;
    OM_uint32 minor;

    r.major = api->gss_display_name(&r.minor, name, &text, NULL);
    if (GSS_ERROR(r.major))
        return gss_api_fail(api, r, err, "the name of the principal");
    *ret = strndup(text.value, text.length);
    api->gss_release_buffer(&minor, &text);
    return *ret ? 0 : err_oom(err);
}

/* Name and lifetime of the credentials; this is what makes the library get them. */
static int inquire(const struct gss_api *api, gss_cred_id_t cred, char **ret_principal,
                   int64_t *ret_seconds, struct err *err)
{
    gss_name_t name = GSS_C_NO_NAME;
    OM_uint32 lifetime = 0, minor;
    struct gss_result r;
    int code;

    /* Asked for both at once, MIT's library loses the name's memory when the ticket has expired. */
    r.major = api->gss_inquire_cred(&r.minor, cred, NULL, &lifetime, NULL, NULL);
    if (!GSS_ERROR(r.major))
        r.major = api->gss_inquire_cred(&r.minor, cred, &name, NULL, NULL, NULL);
    if (GSS_ERROR(r.major))
        return gss_api_fail(api, r, err, "the ticket");
    code = name_text(api, name, ret_principal, err);
    api->gss_release_name(&minor, &name);
    *ret_seconds = lifetime;
    return code;
}

int gss_identity(const struct gss_who *who, char **ret_principal, int64_t *ret_seconds,
                 struct err *err)
{
    gss_cred_id_t cred = GSS_C_NO_CREDENTIAL;
    AUTO_FREE char *principal = NULL;
    int64_t seconds = 0;
    struct gss_api api;
    OM_uint32 minor;
    int r = gss_api_load(&api, err);

    if (r < 0)
        return r;
    r = gss_cred_get(&api, who, &cred, err);
    if (r == 0)
        r = inquire(&api, cred, &principal, &seconds, err);
    api.gss_release_cred(&minor, &cred);
    if (r < 0)
        return r;
    if (ret_seconds)
        *ret_seconds = seconds;
    if (ret_principal)
        *ret_principal = take(principal);
    return 0;
}
