/* registry_names.c - what users call things becomes DNS labels here (a to z, digits, dashes),
 * because RegistryDNS serves the same names. See registry_names.h. */
#include "hadoop/registry/registry_names.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static bool registry_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool registry_names_is_label(const char *s, size_t n)
{
    if (n == 0 || n >= REGISTRY_LABEL || s[0] == '-' || s[n - 1] == '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!registry_is_plain(s[i]) && s[i] != '-')
            return false;
    return true;
}

bool registry_is_label(const char *s)
{
    return registry_names_is_label(s, strlen(s));
}

static const char *registry_label_of(const char *text, size_t n, char out[REGISTRY_LABEL])
{
    size_t len = 0;

    for (size_t i = 0; i < n && len < REGISTRY_LABEL - 1; i++) {
        char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];

        if (!registry_is_plain(c))
            c = '-';
        if (c != '-' || len > 0)
            out[len++] = c;
    }
    while (len > 0 && out[len - 1] == '-')
        len--;
    if (len == 0)
        out[len++] = 'x';
    out[len] = '\0';
    return out;
}

const char *registry_label(const char *text, char out[REGISTRY_LABEL])
{
    return registry_label_of(text, strlen(text), out);
}

const char *registry_user(const char *user, char out[REGISTRY_LABEL])
{
    return registry_label_of(user, strcspn(user, "@/"), out);
}

/* container_e17_1410901177871_0001_01_000005 is ctr-e17-1410901177871-0001-01-000005, as Hadoop's
 * own encodeYarnID() has it: an underscore may not stand in a DNS label. */
const char *registry_container(const char *container, char out[REGISTRY_LABEL])
{
    static const char prefix[] = "container";
    char text[2 * REGISTRY_LABEL];
    bool is = str_starts(container, prefix);

    snprintf(text, sizeof(text), "%s%.64s", is ? "ctr" : "",
             container + (is ? sizeof(prefix) - 1 : 0));
    return registry_label(text, out);
}

static int registry_check_label(const char *what, const char *s, struct err *err)
{
    if (registry_is_label(s))
        return 0;
    return err_set(
        err, -EINVAL,
        "'%s' cannot be the name of a %s: it takes a to z, digits and dashes, 63 at most", s, what);
}

int registry_service_path(const char *user, const char *class_, const char *name, char **ret,
                          struct err *err)
{
    char label[REGISTRY_LABEL];
    int r = registry_check_label("class", class_, err);

    if (r == 0)
        r = registry_check_label("service", name, err);
    if (r < 0)
        return r;
    *ret = str_printf("/users/%s/services/%s/%s", registry_user(user, label), class_, name);
    return *ret ? 0 : err_oom(err);
}

int registry_component_path(const char *service_path, const char *component, char **ret,
                            struct err *err)
{
    int r = registry_check_path(service_path, err);

    if (r == 0)
        r = registry_check_label("component", component, err);
    if (r < 0)
        return r;
    *ret = str_printf("%s/components/%s", service_path, component);
    return *ret ? 0 : err_oom(err);
}

int registry_check_path(const char *path, struct err *err)
{
    const char *p = path;

    while (*p == '/') {
        size_t n = strcspn(p + 1, "/");

        if (!registry_names_is_label(p + 1, n))
            break;
        p += n + 1;
    }
    return *p || p == path ? err_set(err, -EINVAL, "'%s' is not a path of the registry", path) : 0;
}
