/* launch_context.c - fills in the message that a NodeManager turns into a bash script, and
 * refuses what that script would break on: names between double quotes, commands that are too
 * long, two files with one name. See launch_context.h. */
#include "hadoop/yarn/launch_context.h"
#include "base/buf.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

/* bash refuses to run a command line much longer than this. */
#define TEXT_MAX (128 * KIB)

Yarn__ContainerLaunchContext *yarn_launch_new(void)
{
    return MESSAGE_NEW(yarn__container_launch_context);
}

/* ---- command and environment ----
 *
 * A NodeManager first replaces markers in the text (<LOG_DIR>, <CPS>, <ADD_OPENS>, "{{" by "$" and
 * "}}" by nothing), then writes it between double quotes into a bash script:
 *
 *     export NAME="VALUE"
 *     exec /bin/bash -c "COMMAND"
 *
 * so what a shell reads inside double quotes is escaped. In a value, markers are broken by an empty
 * pair of quotes; in a command they stay live: this is the one place for "1><LOG_DIR>/stdout". */

/* Two quotes after the first character keep a marker from being one, and mean nothing to the
 * shell. */
static bool opens_marker(const char *p)
{
    return *p == '<' || (*p == '{' && p[1] == '{') || (*p == '}' && p[1] == '}');
}

static int quote(struct buf *out, const char *text, bool break_markers)
{
    int r = 0;

    for (const char *p = text; *p && r >= 0; p++) {
        r = strchr("\\$`\"", *p) ? buf_add_u8(out, '\\') : 0;
        if (r >= 0)
            r = buf_add_u8(out, (uint8_t)*p);
        if (r >= 0 && break_markers && opens_marker(p))
            r = buf_add_str(out, "\"\"");
    }
    return r;
}

static int too_long(struct err *err, int r, const char *what)
{
    if (r == -ENOMEM)
        return err_oom(err);
    return err_set(err, r, "%s is longer than %zu bytes", what, TEXT_MAX);
}

int yarn_launch_script(Yarn__ContainerLaunchContext *c, const char *text, struct err *err)
{
    AUTO_BUF b = { .max = TEXT_MAX };
    const char *quoted;
    int r;

    r = quote(&b, text, false);
    if (r < 0)
        return too_long(err, r, "a word of the command");
    quoted = buf_text(&b);
    if (!quoted || MESSAGE_ADD_TEXT(c, command, quoted) < 0)
        return err_oom(err);
    return 0;
}

static bool is_env_name(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    return *s == '\0';
}

int yarn_launch_env(Yarn__ContainerLaunchContext *c, const char *name, const char *value,
                    struct err *err)
{
    AUTO_MESSAGE Yarn__StringStringMap *row = NULL;
    AUTO_BUF b = { .max = TEXT_MAX };
    const char *quoted;
    int r;

    if (!is_env_name(name))
        return err_set(err, -EINVAL, "'%s' is not a name for an environment variable", name);
    r = quote(&b, value, true);
    if (r < 0)
        return too_long(err, r, "the value of an environment variable");
    row = MESSAGE_NEW(yarn__string_string_map);
    quoted = buf_text(&b);
    if (!row || !quoted || MESSAGE_TEXT(row->key, name) < 0 ||
        MESSAGE_TEXT(row->value, quoted) < 0 || MESSAGE_ADD(c, environment, take(row)) < 0)
        return err_oom(err);
    return 0;
}

/* ---- files ---- */

/* scheme://[user@][host[:port]]/path. The path stays as it is: Java quotes what its URIs need. */
struct url_parts {
    const char *scheme, *user, *host, *port, *path;
    int n_scheme, n_user, n_host, n_port;
};

static bool split_url(const char *text, struct url_parts *u)
{
    const char *colon = strstr(text, "://"), *authority, *at, *end;

    if (!colon || colon == text)
        return false;
    *u = (struct url_parts){ .scheme = text, .n_scheme = (int)(colon - text) };
    authority = colon + 3;
    u->path = strchr(authority, '/');
    if (!u->path)
        return false;
    at = memchr(authority, '@', (size_t)(u->path - authority));
    if (at) {
        u->user = authority;
        u->n_user = (int)(at - authority);
        authority = at + 1;
    }
    u->host = authority;
    end = *authority == '[' ? memchr(authority, ']', (size_t)(u->path - authority)) : authority;
    end = end ? memchr(end, ':', (size_t)(u->path - end)) : NULL;
    u->n_host = (int)((end ? end : u->path) - authority);
    if (end) {
        u->port = end + 1;
        u->n_port = (int)(u->path - end - 1);
    }
    return true;
}

/* A port that is left out reads as 0 there: hdfs://ns:0/, which a client of a name service
 * refuses. */
static int port_of(const struct url_parts *u, int32_t *ret)
{
    AUTO_FREE char *digits = NULL;
    int64_t port;

    /* Java's URI has -1 for "no port", and NodeManagers expect that number. */
    *ret = -1;
    if (!u->port)
        return 0;
    digits = strndup(u->port, (size_t)u->n_port);
    if (!digits)
        return -ENOMEM;
    if (str_to_i64(digits, 1, 65535, &port) < 0)
        return -EINVAL;
    *ret = (int32_t)port;
    return 0;
}

static int set_part(const char **field, const char *p, int n)
{
    if (n <= 0)
        return 0;
    *field = strndup(p, (size_t)n);
    return *field ? 0 : -ENOMEM;
}

/* The port is always written: -1 when the url has none. */
static int yarn_url_parse(const char *text, Yarn__Url **ret, struct err *err)
{
    AUTO_MESSAGE Yarn__Url *url = NULL;
    struct url_parts u;
    int32_t port = -1;
    int r;

    r = split_url(text, &u) ? port_of(&u, &port) : -EINVAL;
    if (r == -EINVAL)
        return err_set(err, -EINVAL, "'%s' is not a full URI such as hdfs://HOST/PATH", text);
    url = r == 0 ? MESSAGE_NEW(yarn__url) : NULL;
    if (!url)
        return err_oom(err);
    url->has_port = true;
    url->port = port;
    r = set_part(&url->scheme, u.scheme, u.n_scheme);
    if (r == 0)
        r = set_part(&url->user_info, u.user, u.n_user);
    if (r == 0)
        r = set_part(&url->host, u.host, u.n_host);
    if (r < 0 || MESSAGE_TEXT(url->file, u.path) < 0)
        return err_oom(err);
    *ret = take(url);
    return 0;
}

static bool leaves_directory(const char *name)
{
    for (const char *p = name; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (str_starts(p, "..") && (p[2] == '/' || p[2] == '\0'))
            return true;
    }
    return *name == '/';
}

/* Both names stand between double quotes in an `ln` of the launch script, and a directory of the
 * link stands there without any quotes. */
static int yarn_check_names(const char *name, const char *url, struct err *err)
{
    const char *base = strrchr(url, '/'), *slash = strrchr(name, '/');

    if (!*name || str_eq(name, "*") || leaves_directory(name))
        return err_set(err, -EINVAL, "'%s' is not a name in a work directory", name);
    if (strpbrk(name, "\"$`\\\n") ||
        (slash && strcspn(name, " \t*?[&;|<>()'#~!") < (size_t)(slash - name)))
        return err_set(err, -EINVAL, "'%s': YARN can make no file with such a name", name);
    if (strpbrk(base ? base : url, "\"$`\\\n")) {
        err_set(err, -EINVAL, "'%s': YARN cannot bring a file with such a name to a node", url);
        err_hint(err, "its launch script reads $, `, \" and \\ as shell text: rename the file");
        return -EINVAL;
    }
    return 0;
}

/* Visibility decides about the copy on the node: PUBLIC is shared by all users, and needs a file
 * that everybody can read below directories that everybody can enter; PRIVATE by all applications
 * of the user; APPLICATION is deleted with the application. An ARCHIVE is unpacked by the suffix of
 * its source's name (.zip, .jar, .tar, .tgz, .tar.gz), whatever its bytes are; one with another
 * suffix is copied as a file. */
static Yarn__LocalResource *resource_new(const struct yarn_file *file)
{
    Yarn__LocalResource *m = MESSAGE_NEW(yarn__local_resource);

    if (!m)
        return NULL;
    m->has_size = m->has_timestamp = m->has_type = m->has_visibility = true;
    m->size = file->size;
    /* The NodeManager compares it with the file's modification time, to the millisecond, and fails
     * the container when they differ. It does not compare the size. */
    m->timestamp = file->timestamp;
    m->type = file->archive ? YARN__LOCAL_RESOURCE_TYPE__RESOURCE_ARCHIVE
                            : YARN__LOCAL_RESOURCE_TYPE__RESOURCE_FILE;
    m->visibility =
        file->visibility ? file->visibility : YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_APPLICATION;
    return m;
}

int yarn_file_resource(const char *name, const struct yarn_file *file,
                       Yarn__StringLocalResourceMap **ret, struct err *err)
{
    AUTO_MESSAGE Yarn__StringLocalResourceMap *row = NULL;
    int r = yarn_check_names(name, file->url, err);

    if (r < 0)
        return r;
    row = MESSAGE_NEW(yarn__string_local_resource_map);
    if (!row || MESSAGE_TEXT(row->key, name) < 0)
        return err_oom(err);
    row->value = resource_new(file);
    if (!row->value)
        return err_oom(err);
    r = yarn_url_parse(file->url, &row->value->url, err);
    if (r < 0)
        return r;
    *ret = take(row);
    return 0;
}

static bool same_file(const Yarn__LocalResource *a, const Yarn__LocalResource *b)
{
    return a->type == b->type && a->timestamp == b->timestamp &&
           str_eq(a->url->scheme, b->url->scheme) && str_eq(a->url->host, b->url->host) &&
           a->url->port == b->url->port && str_eq(a->url->file, b->url->file);
}

/* NodeManagers make only one link to a file, whatever names it is to have. The pattern means
 * nothing for what is not unpacked by one, but makes it another file to them. */
static int tell_apart(const Yarn__ContainerLaunchContext *c, Yarn__StringLocalResourceMap *row)
{
    for (size_t i = 0; i < c->n_local_resources; i++)
        if (same_file(c->local_resources[i]->value, row->value))
            return MESSAGE_TEXT(row->value->pattern, row->key);
    return 0;
}

int yarn_launch_file(Yarn__ContainerLaunchContext *c, const char *name,
                     const struct yarn_file *file, struct err *err)
{
    AUTO_MESSAGE Yarn__StringLocalResourceMap *row = NULL;
    int r;

    for (size_t i = 0; i < c->n_local_resources; i++)
        if (str_eq(c->local_resources[i]->key, name))
            return err_set(err, -EEXIST, "two files have the same name '%s'", name);
    r = yarn_file_resource(name, file, &row, err);
    if (r < 0)
        return r;
    if (tell_apart(c, row) < 0)
        return err_oom(err);
    return MESSAGE_ADD(c, local_resources, take(row)) < 0 ? err_oom(err) : 0;
}

/* ---- the rest ---- */

int yarn_launch_tokens(Yarn__ContainerLaunchContext *c, const void *p, size_t n, struct err *err)
{
    if (c->has_tokens)
        return err_set(err, -EEXIST, "the launch context has its tokens already");
    return message_bytes(&c->tokens, &c->has_tokens, p, n) < 0 ? err_oom(err) : 0;
}

int yarn_launch_acl(Yarn__ContainerLaunchContext *c, Yarn__ApplicationAccessType type,
                    const char *acl, struct err *err)
{
    AUTO_MESSAGE Yarn__ApplicationAclMap *row = MESSAGE_NEW(yarn__application_acl_map);

    if (!row || MESSAGE_TEXT(row->acl, acl) < 0)
        return err_oom(err);
    row->has_access_type = true;
    row->access_type = type;
    return MESSAGE_ADD(c, application_acls, take(row)) < 0 ? err_oom(err) : 0;
}

int yarn_launch_retry(Yarn__ContainerLaunchContext *c, const struct yarn_retry *retry,
                      struct err *err)
{
    AUTO_MESSAGE Yarn__ContainerRetryContext *m = MESSAGE_NEW(yarn__container_retry_context);

    if (!m)
        return err_oom(err);
    m->has_policy = m->has_max_retries = m->has_retry_interval = true;
    m->policy = retry->policy;
    m->max_retries = retry->max;
    m->retry_interval = retry->interval_ms;
    if (retry->window_ms > 0) {
        m->has_failures_validity_interval = true;
        m->failures_validity_interval = retry->window_ms;
    }
    if (retry->n_codes > 0) {
        m->error_codes = calloc(retry->n_codes, sizeof(*m->error_codes));
        if (!m->error_codes)
            return err_oom(err);
        m->n_error_codes = retry->n_codes;
        memcpy(m->error_codes, retry->codes, retry->n_codes * sizeof(*m->error_codes));
    }
    message_free(c->retry_context);
    c->retry_context = take(m);
    return 0;
}
