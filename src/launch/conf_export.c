/* conf_export.c - walks the settings that are set and writes those that ydl reads, with
 * references resolved; values that cannot be written in XML are refused. See conf_export.h. */
#include "launch/conf_export.h"
#include "base/str.h"
#include "hadoop/conf/keys.h"

#include <string.h>

/* Settings without a row in the table, and the beginnings of those whose names have a name service,
 * an id or a mount point in them. */
static const char *const others[] = {
    "dfs.client.block.write.replace-datanode-on-failure.min-replication",
    "yarn.scheduler.minimum-allocation-mb",
    "yarn.scheduler.minimum-allocation-vcores",
};
static const char *const prefixes[] = {
    "dfs.client.failover.proxy.provider.",
    "dfs.ha.namenodes.",
    "dfs.namenode.kerberos.principal.",
    "dfs.namenode.rpc-address.",
    "fs.viewfs.mounttable.",
    "hadoop.registry.",
    "yarn.resourcemanager.address.",
    "yarn.resourcemanager.admin.address.",
    "yarn.resourcemanager.hostname.",
    "yarn.resourcemanager.principal.",
    "yarn.resourcemanager.scheduler.address.",
    "yarn.resourcemanager.webapp.address.",
    "yarn.resourcemanager.webapp.https.address.",
};

static bool is_read(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (str_eq(key, others[i]))
            return true;
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_starts(key, prefixes[i]))
            return true;
    return key_find(key) != NULL;
}

/* The entity for a character, or NULL when the character needs none. A carriage return would be
 * read back as a line feed. */
static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '\r':
        return "&#13;";
    default:
        return NULL;
    }
}

/* Text as XML; -EINVAL for what XML cannot say, which only an environment variable can bring in. */
static int conf_export_add_text(struct buf *out, const char *text)
{
    int r = 0;

    for (size_t n; *text && r == 0; text += n) {
        const char *instead = entity(*text);
        bool control = (unsigned char)*text < ' ' && !strchr("\t\n\r", *text);

        n = str_utf8_len(text);
        if (n == 0 || control || strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
            strncmp(text, "\xef\xbf\xbf", 3) == 0) /* U+FFFE, U+FFFF */
            return -EINVAL;
        r = instead ? buf_add_str(out, instead) : buf_add(out, text, n);
    }
    return r;
}

static int conf_export_add_setting(struct buf *out, const char *key, const char *value)
{
    int r = buf_add_str(out, "<property><name>");

    if (r == 0)
        r = conf_export_add_text(out, key);
    if (r == 0)
        r = buf_add_str(out, "</name><value>");
    /* No text at all would be no value, and the default would come back in its place. */
    if (r == 0)
        r = *value ? conf_export_add_text(out, value) : buf_add_str(out, " ");
    return r < 0 ? r : buf_add_str(out, "</value></property>\n");
}

static int conf_export_add_all(const struct conf *c, const struct strs *keys, struct buf *out,
                               struct err *err)
{
    int r = buf_add_str(out, "<configuration>\n");

    for (size_t i = 0; i < keys->n && r == 0; i++) {
        AUTO_FREE char *value = NULL;

        if (!is_read(keys->v[i]))
            continue;
        r = conf_str(c, keys->v[i], &value, err);
        if (r < 0)
            return r;
        r = value ? conf_export_add_setting(out, keys->v[i], value) : 0;
        if (r == -EINVAL)
            return conf_bad(c, keys->v[i], value, "which cannot be written in XML", err);
    }
    if (r == 0)
        r = buf_add_str(out, "</configuration>\n");
    if (r == -E2BIG)
        return err_set(err, r, "the configuration is larger than %zu KB", CONF_EXPORT_MAX / KIB);
    return r < 0 ? err_oom(err) : 0;
}

int conf_export(const struct conf *c, struct buf *out, struct err *err)
{
    AUTO_BUF text = { .max = CONF_EXPORT_MAX };
    AUTO_STRS keys = { 0 };
    int r = conf_keys(c, "", &keys, err);

    if (r == 0)
        r = conf_export_add_all(c, &keys, &text, err);
    if (r < 0)
        return r;
    r = buf_add(out, text.data, text.len);
    if (r == -E2BIG)
        return err_set(err, r, "there is no room for the configuration");
    return r < 0 ? err_oom(err) : 0;
}
