/* hadoop_xml.c - a hostile configuration file: the XML, and everything that is read out of it. */
#include "fuzz.h"
#include "hadoop/conf/conf.h"
#include "hadoop/conf/conf_path.h"
#include "hadoop/conf/conf_services.h"
#include "hadoop/conf/keys.h"
#include "hadoop/conf/xml.h"

static int on_property(void *arg, const struct xml_property *p, struct err *err)
{
    (void)arg, (void)p, (void)err;
    return 0;
}

/* The first letter decides what becomes of an include. */
static int on_include(void *arg, const char *href, int line, bool *found, struct err *err)
{
    (void)arg, (void)line;
    if (*href == 'e')
        return err_set(err, -EIO, "no");
    *found = *href != 'm';
    return 0;
}

static void read_values(const struct conf *c)
{
    struct err err = ERR_INIT;
    const struct key *k;
    size_t n;

    k = key_table(&n);
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *text = NULL;
        AUTO_STRS list = { 0 };
        uint64_t size;
        int64_t v;
        bool b;

        (void)conf_str(c, k[i].name, &text, &err);
        (void)conf_int(c, k[i].name, &v, &err);
        (void)conf_ms(c, k[i].name, &v, &err);
        (void)conf_size(c, k[i].name, &size, &err);
        (void)conf_bool(c, k[i].name, &b, &err);
        (void)conf_list(c, k[i].name, &list, &err);
    }
}

/* The setting "fuzz" says which path and which name service to look at. */
static void read_cluster(const struct conf *c)
{
    AUTO_HOSTS rms = { 0 }, nns = { 0 };
    AUTO_FS_PATH path = { 0 };
    AUTO_FREE char *text = NULL;
    struct err err = ERR_INIT;
    struct security s;

    (void)conf_security(c, &s, &err);
    (void)conf_resourcemanagers(c, RM_WEBAPP, &rms, &err);
    if (conf_str(c, "fuzz", &text, &err) < 0 || !text)
        return;
    (void)conf_namenodes(c, text, &nns, &err);
    (void)conf_path(c, text, "me", &path, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct xml_reader reader = { on_property, on_include, NULL };
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;

    (void)xml_read("fuzz.xml", data, size, &reader, &err);
    if (conf_parse("fuzz.xml", data, size, &c, &err) < 0)
        return 0;
    read_values(c);
    read_cluster(c);
    return 0;
}
