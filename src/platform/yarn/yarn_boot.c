/* yarn_boot.c - packs what a container must know into secrets of its credentials, checks it on
 * the way out (ids become names of directories), and strips it from what tasks get. See
 * yarn_boot.h. */
#include "platform/yarn/yarn_boot.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "hadoop/token/ident.h"
#include "job/protocol.h"

#include <string.h>

void yarn_boot_done(struct yarn_boot *b)
{
    free(b->job);
    free(b->base);
    free(b->user);
    free(b->conf);
    free(b->address);
    explicit_bzero(b, sizeof(*b));
}

/* ---- reading ---- */

static int yarn_set_text(char **to, const char *from, struct err *err)
{
    if (!from)
        return 0;
    *to = strdup(from);
    return *to ? 0 : err_oom(err);
}

/* A job's id becomes a directory's name and the key's identity. */
static int yarn_check_job(const char *job, struct err *err)
{
    if (!*job || *job == '.' || strchr(job, '/'))
        return err_set(err, -EBADMSG, "'%.40s' is not a valid job id", job);
    if (strlen(job) >= sizeof(((struct stream_key *)NULL)->identity))
        return err_set(err, -EBADMSG, "the job's id is too long");
    return 0;
}

static int set_facts(struct yarn_boot *b, const json_t *v, struct err *err)
{
    const char *job = NULL, *base = NULL, *conf = NULL, *user = NULL, *address = NULL;
    const struct {
        char **to;
        const char **from;
    } rows[] = {
        { &b->job, &job },   { &b->base, &base },       { &b->conf, &conf },
        { &b->user, &user }, { &b->address, &address },
    };
    int r;

    r = protocol_check_json(PROTOCOL_BOOT, v, err);
    if (r < 0)
        return r;
    if (json_unpack((json_t *)v, "{s:s, s:s, s:s, s?s, s?s}", "job", &job, "base", &base, "conf",
                    &conf, "user", &user, "address", &address) < 0)
        return err_set(err, -EBADMSG, "the job, its base or its configuration is missing");
    r = yarn_check_job(job, err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(rows); i++)
        r = yarn_set_text(rows[i].to, *rows[i].from, err);
    return r;
}

/* Credentials come from a file that only we can read, but they name directories: each fact is
 * checked as if it came from a stranger. */
int yarn_boot_read(const struct credentials *c, struct yarn_boot *ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    size_t n = 0, key_n = 0;
    const void *facts = credentials_secret(c, YARN_BOOT_FACTS, &n);
    const void *key = credentials_secret(c, YARN_BOOT_KEY, &key_n);
    int r;

    *ret = (struct yarn_boot){ 0 };
    if (!facts || !key)
        return err_set(err, -ENOKEY, "the credentials hold no ydl job");
    if (key_n != STREAM_KEY)
        return err_set(err, -EBADMSG, "the job's key has %zu bytes, not %d", key_n, STREAM_KEY);
    r = json_parse(YARN_BOOT_FACTS, facts, n, &v, err);
    if (r == -EINVAL)
        r = -EBADMSG;
    if (r == 0)
        r = set_facts(ret, v, err);
    if (r < 0)
        return err_wrap(err, r, "credentials");
    memcpy(ret->key.key, key, STREAM_KEY);
    memcpy(ret->key.identity, ret->job, strlen(ret->job) + 1);
    return 0;
}

/* ---- writing ---- */

static int yarn_add_text(json_t *v, const char *name, const char *text, struct err *err)
{
    AUTO_JSON *one = NULL;
    int r;

    if (!text)
        return 0;
    r = json_make(&one, err, "s", text);
    if (r < 0)
        return err_wrap(err, r, "'%s' of the job", name);
    return json_object_set_new(v, name, take(one)) < 0 ? err_oom(err) : 0;
}

int yarn_boot_add(const struct yarn_boot *b, struct credentials *c, struct err *err)
{
    const struct {
        const char *name, *text;
    } rows[] = {
        { "job", b->job },   { "base", b->base },       { "conf", b->conf },
        { "user", b->user }, { "address", b->address },
    };
    AUTO_JSON *v = json_object();
    AUTO_FREE char *text = NULL;
    int r = v ? yarn_check_job(b->job, err) : err_oom(err);

    for (size_t i = 0; r == 0 && i < COUNT_OF(rows); i++)
        r = yarn_add_text(v, rows[i].name, rows[i].text, err);
    if (r == 0 &&
        json_object_set_new(v, PROTOCOL_KEY, json_integer(protocol_number(PROTOCOL_BOOT))) < 0)
        r = err_oom(err);
    if (r < 0)
        return r;
    text = json_dumps(v, JSON_COMPACT);
    if (!text)
        return err_oom(err);
    r = credentials_add_secret(c, YARN_BOOT_FACTS, text, strlen(text), err);
    if (r == 0)
        r = credentials_add_secret(c, YARN_BOOT_KEY, b->key.key, STREAM_KEY, err);
    return r;
}

/* ---- the rest ---- */

/* Left out are the master's own token for the ResourceManager and what makes an agent of this job:
 * a task could otherwise speak for the whole application. */
int yarn_boot_strip(const struct credentials *c, struct credentials **ret, struct err *err)
{
    static const char *const kinds[] = { KIND_AMRM, NULL };
    AUTO_CREDENTIALS *copy = NULL;
    int r = credentials_new(&copy, err);

    if (r == 0)
        r = credentials_copy(copy, c, kinds, err);
    if (r < 0)
        return r;
    credentials_remove_secret(copy, YARN_BOOT_KEY);
    credentials_remove_secret(copy, YARN_BOOT_FACTS);
    *ret = take(copy);
    return 0;
}

char *yarn_boot_client(const char *job)
{
    return str_printf("client_%s", job);
}

char *yarn_home(const char *base, enum yarn_home what, const char *job, const char *name)
{
    static const char *const dirs[] = {
        [YARN_HOME_JOBS] = "jobs", [YARN_HOME_LOGS] = "logs",     [YARN_HOME_CACHE] = "cache",
        [YARN_HOME_OUT] = "out",   [YARN_HOME_MODELS] = "models",
    };
    const char *parts[] = { dirs[what], job, name };
    char *path = strdup(base);

    for (size_t i = 0; path && i < COUNT_OF(parts); i++) {
        AUTO_FREE char *up = path;

        path = parts[i] ? path_join(up, parts[i]) : take(up);
    }
    return path;
}
