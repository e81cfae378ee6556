/* slider_values.c - ${…} in the values of an application; see slider_values.h.
 *
 *     ${ps.ALLOCATED_PORT}{PER_CONTAINER}   a port of the component's own, held before it starts
 *     ${ps_HOST}                            where its tasks are
 *     ${NN_URI}, ${USER}, ${CLUSTER_NAME} … what is known here and now
 *
 * What is known only when tasks are placed becomes a variable of ydl, between marks, because how it
 * is written depends on what it is put into. */
#include "cmd/slider/slider_values.h"
#include "job/spec/vars.h"

#include <ctype.h>
#include <string.h>

#define PORT ".ALLOCATED_PORT"
#define HOST "_HOST"
#define LOWER ".lc"

/* ---- parts ---- */

int slider_role(const struct slider_component *c, struct buf *out)
{
    int r = 0;

    for (const char *p = c->name; r == 0 && *p; p++)
        r = buf_add_u8(out, (uint8_t)tolower((unsigned char)*p));
    return r;
}

/* "{NAME}", "{NAME:ROLE}" or "{NAME:ROLE:0}" between marks. */
static int add_var(struct buf *out, const char *name, const struct slider_component *role,
                   const char *tail)
{
    int r = buf_printf(out, "%c%s", SLIDER_VAR_BEGIN, name);

    if (r == 0 && role)
        r = buf_add_str(out, ":");
    if (r == 0 && role)
        r = slider_role(role, out);
    if (r == 0)
        r = buf_add_str(out, tail);
    return r < 0 ? r : buf_add_u8(out, SLIDER_VAR_END);
}

/* The component that `n` bytes name, when it is one. */
static const struct slider_component *slider_named(const struct slider_tokens *t, const char *p,
                                                   size_t n)
{
    return slider_component(t->model, p, n);
}

/* ---- ports ---- */

/* What may stand behind the token: {DEFAULT_n} and {PER_CONTAINER}, in any order. */
static size_t port_tail(struct slider_tokens *t, const char *p, bool *ret_own)
{
    static const char own[] = "{PER_CONTAINER}", preset[] = "{DEFAULT_";
    const char *begin = p;

    for (;;) {
        if (str_starts(p, own)) {
            *ret_own = true;
            p += sizeof(own) - 1;
            continue;
        }
        if (str_starts(p, preset)) {
            size_t n = strspn(p + sizeof(preset) - 1, "0123456789");
            const char *end = p + sizeof(preset) - 1 + n;

            if (n == 0 || *end != '}')
                break;
            t->preferred |= strspn(p + sizeof(preset) - 1, "0") < n;
            p = end + 1;
            continue;
        }
        break;
    }
    return (size_t)(p - begin);
}

/* The next port of a component. A task knows its own ones; of others only what all of them share.
 *
 *     {port:ROLE:0}      the first port of another component, or of one's own with several
 *                        instances: that of instance 0, the same for all
 *     {port}, {port:k}   a task's own ports
 *     0                  further ports of another component, which only its tasks know */
static int add_port(struct slider_tokens *t, const struct slider_component *c, bool own,
                    struct buf *out, struct err *err)
{
    size_t at = (size_t)(c - t->model->v);
    unsigned k = t->ports[at]++;
    char name[24];

    if (k >= SLIDER_PORTS_MAX)
        return cli_bad(err, "appConfig: component '%s' uses more than %d ports", c->name,
                       SLIDER_PORTS_MAX);
    if (!own && k == 0 && (c != t->component || c->count > 1))
        return add_var(out, "port", c, ":0");
    if (c != t->component)
        return buf_add_str(out, "0");
    (void)snprintf(name, sizeof(name), k ? "port:%u" : "port", k);
    return add_var(out, name, NULL, "");
}

/* ---- names ---- */

/* A host and nothing else, of "hdfs://host:8020/x". */
static int add_host(const char *uri, struct buf *out)
{
    const char *host = uri ? strstr(uri, "://") : NULL;

    host = host && host[3] ? host + 3 : "localhost";
    return buf_add(out, host, strcspn(host, ":/"));
}

static int add_data_dir(const struct slider_tokens *t, struct buf *out)
{
    const struct slider_facts *f = t->facts;

    return buf_printf(out, "%s/user/%s/.slider/cluster/%s/database", f->fs_uri ? f->fs_uri : "",
                      f->user ? f->user : "", t->model->name);
}

static int add_zk_path(const struct slider_tokens *t, struct buf *out)
{
    const struct slider_facts *f = t->facts;

    if (f->zk_path)
        return buf_add_str(out, f->zk_path);
    return buf_printf(out, "/services/slider/users/%s/%s", f->user ? f->user : "", t->model->name);
}

/* Tokens that are plain texts; `lower` ones have a form that ends in LOWER. */
static const char *slider_plain(const struct slider_tokens *t, const char *token, size_t n,
                                bool *lower)
{
    const struct slider_facts *f = t->facts;
    const struct {
        const char *token, *text;
    } rows[] = {
        { "NN_URI", f->fs_uri ? f->fs_uri : "file:///" },
        { "ZK_HOST", f->zk_hosts ? f->zk_hosts : "" },
        { "USER", f->user ? f->user : "" },
        { "USER_NAME", f->user ? f->user : "" },
        { "COMPONENT_NAME", t->component->name },
        { "APP_COMPONENT_NAME", t->component->name },
        { "COMPONENT_PREFIX", "" },
        { "CLUSTER_NAME", t->model->name },
        { "APP_NAME", t->model->name },
    };
    size_t tail = strlen(LOWER);

    *lower = n > tail && memcmp(token + n - tail, LOWER, tail) == 0;
    n -= *lower ? tail : 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strlen(rows[i].token) == n && memcmp(rows[i].token, token, n) == 0)
            return rows[i].text;
    return NULL;
}

static bool is(const char *token, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(token, name, n) == 0;
}

/* A token of `n` bytes that is no port's: 1 when it was one, 0 when it stays as it is. */
static int slider_add_token(const struct slider_tokens *t, const char *token, size_t n,
                            bool own_host, struct buf *out)
{
    size_t tail = strlen(HOST);
    bool lower;
    const char *text = slider_plain(t, token, n, &lower);
    const struct slider_component *c =
        n > tail && is(token + n - tail, tail, HOST) ? slider_named(t, token, n - tail) : NULL;
    int r = 0;

    for (; text && r == 0 && *text; text++)
        r = buf_add_u8(out, (uint8_t)(lower ? tolower((unsigned char)*text) : *text));
    if (text)
        return r < 0 ? r : 1;
    if (c && own_host && c == t->component)
        r = add_var(out, "host", NULL, "");
    else if (c)
        r = add_var(out, "addresses", c, "");
    else if (is(token, n, "NN_HOST"))
        r = add_host(t->facts->fs_uri, out);
    else if (is(token, n, "DEFAULT_DATA_DIR"))
        r = add_data_dir(t, out);
    else if (is(token, n, "DEFAULT_ZK_PATH"))
        r = add_zk_path(t, out);
    else if (is(token, n, "COMPONENT_ID"))
        r = add_var(out, "index", NULL, "");
    else
        return 0;
    return r < 0 ? r : 1;
}

/* ---- values ---- */

/* User's text with marks of ours in it would be taken for variables. */
static int slider_add_plain(struct buf *out, const char *p, size_t n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = buf_add_u8(out,
                       p[i] == SLIDER_VAR_BEGIN || p[i] == SLIDER_VAR_END ? ' ' : (uint8_t)p[i]);
    return r;
}

static int slider_explain(int r, struct err *err)
{
    if (r == -ENOMEM)
        return err_oom(err);
    return r == -E2BIG ? cli_bad(err, "a value is too long") : r;
}

/* Adds what stands before the next ${TOKEN}, or all that is left, and goes on behind it: 1 when
 * there is one, its name in *ret. */
static int next_token(const char **value, const char **ret, size_t *ret_n, struct buf *out)
{
    const char *from = *value, *token = strstr(from, "${"),
               *end = token ? strchr(token, '}') : NULL;
    int r = slider_add_plain(out, from, end ? (size_t)(token - from) : strlen(from));

    *value = end ? end + 1 : "";
    if (!end || r < 0)
        return r < 0 ? r : 0;
    *ret = token + 2;
    *ret_n = (size_t)(end - token) - 2;
    return 1;
}

int slider_resolve(struct slider_tokens *t, const char *value, struct buf *out, struct err *err)
{
    size_t port = strlen(PORT), n;
    const char *token;
    int r = 0;

    while (r == 0 && (r = next_token(&value, &token, &n, out)) > 0) {
        if (n > port && is(token + n - port, port, PORT)) {
            const struct slider_component *c = slider_named(t, token, n - port);
            bool own = false;

            value += port_tail(t, value, &own);
            r = c ? add_port(t, c, own, out, err) : buf_add_str(out, "0");
            continue;
        }
        r = slider_add_token(t, token, n, false, out);
        if (r == 0)
            r = slider_add_plain(out, token - 2, n + 3); /* the task's business */
        r = r == 1 ? 0 : r;
    }
    return slider_explain(r, err);
}

/* "site.global.ps.port" in the dictionaries. */
static int add_site(const json_t *dicts, const char *token, size_t n, struct buf *out,
                    struct err *err)
{
    AUTO_FREE char *key = strndup(token, n);
    char *dot = key ? strchr(key + strlen("site."), '.') : NULL;
    const char *text;

    if (!key)
        return -ENOMEM;
    if (dot)
        *dot = '\0';
    text = dot ? json_string_value(
                     json_object_get(json_object_get(dicts, key + strlen("site.")), dot + 1))
               : NULL;
    if (text)
        return buf_add_str(out, text);
    return cli_bad(err, "metainfo.json: an export names ${%.*s}, which is not in appConfig", (int)n,
                   token);
}

int slider_resolve_export(const struct slider_tokens *t, const json_t *dicts, const char *value,
                          struct buf *out, struct err *err)
{
    const char *token;
    size_t n;
    int r = 0;

    while (r == 0 && (r = next_token(&value, &token, &n, out)) > 0) {
        if (str_starts(token, "site.")) {
            r = add_site(dicts, token, n, out, err);
            continue;
        }
        r = slider_add_token(t, token, n, true, out);
        if (r == 0)
            r = slider_add_plain(out, token - 2, n + 3);
        r = r == 1 ? 0 : r;
    }
    return slider_explain(r, err);
}

/* ---- variables in texts ---- */

/* Would ydl take this word in braces for a variable, or for a slip in writing one? */
static bool like_variable(const char *word, size_t n)
{
    char text[80];

    for (size_t i = 0; vars_names[i]; i++) {
        size_t len = strcspn(vars_names[i], ":");

        if (strncmp(vars_names[i], word, len) == 0 && (n == len || (n > len && word[len] == ':')))
            return true;
    }
    if (n + 3 > sizeof(text))
        return false;
    (void)snprintf(text, sizeof(text), "{%.*s}", (int)n, word);
    return vars_check(text, NULL, 0, NULL, NULL) < 0;
}

int slider_write_text(const char *marked, struct buf *out)
{
    int r = 0;

    for (const char *p = marked; r == 0 && *p; p++) {
        size_t n = *p == '{' ? strcspn(p + 1, "{}") : 0;

        if (*p == SLIDER_VAR_BEGIN || *p == SLIDER_VAR_END)
            r = buf_add_u8(out, *p == SLIDER_VAR_BEGIN ? '{' : '}');
        else if (n > 0 && p[1 + n] == '}' && like_variable(p + 1, n)) {
            r = buf_printf(out, "{{%.*s}}", (int)n, p + 1);
            p += n + 1;
        } else
            r = buf_add_u8(out, (uint8_t)*p);
    }
    return r;
}

/* One character of a text in JSON, which may be written as several; how many were used. */
static int write_char(const char *p, struct buf *out, size_t *used)
{
    *used = 1;
    if (*p == '{')
        return buf_add_str(out, "\\u007b");
    if (*p != '\\')
        return buf_add_u8(out, (uint8_t)*p);
    *used = p[1] == 'u' ? 6 : 2;
    if (strncmp(p, "\\u0001", 6) == 0)
        return buf_add_u8(out, '{');
    if (strncmp(p, "\\u0002", 6) == 0)
        return buf_add_u8(out, '}');
    return buf_add(out, p, *used);
}

int slider_write_json(const json_t *marked, struct buf *out)
{
    AUTO_FREE char *text = json_dumps(marked, JSON_COMPACT);
    bool quoted = false;
    size_t used = 1;
    int r = text ? 0 : -ENOMEM;

    for (const char *p = text; r == 0 && *p; p += used) {
        used = 1;
        if (*p == '"') {
            quoted = !quoted;
            r = buf_add_u8(out, '"');
        } else if (quoted)
            r = write_char(p, out, &used);
        else
            r = buf_add_u8(out, (uint8_t)*p);
    }
    return r;
}
