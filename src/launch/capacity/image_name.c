/* image_name.c - names of container images: [HOST[:PORT]/]PATH[:TAG][@DIGEST], see capacity.h */
#include "launch/capacity/capacity.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_ 255
#define TAG_MAX_ 128

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* "a", "a.b", "a_b", "a__b", "a-b", "a--b": small letters and digits with single separators. */
static bool good_part(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t word = strspn(s + i, LOWER DIGITS), dashes;

        if (word == 0 || i + word > n)
            return false;
        i += word;
        if (i == n)
            return true;
        dashes = strspn(s + i, "-");
        if (dashes)
            i += dashes;
        else if (s[i] == '_')
            i += s[i + 1] == '_' ? 2 : 1;
        else if (s[i] == '.')
            i++;
        else
            return false;
    }
    return false; /* empty, or a separator at the end */
}

static bool good_path(const char *s, size_t n)
{
    for (size_t i = 0; i <= n;) {
        size_t part = 0;

        while (i + part < n && s[i + part] != '/')
            part++;
        if (!good_part(s + i, part))
            return false;
        i += part + 1;
    }
    return true;
}

/* "registry.example.com:5000", "localhost", "[::1]:5000" */
static bool good_host(const char *s, size_t n)
{
    const char *colon = memrchr(s, ':', n), *close = memchr(s, ']', n);
    size_t host = colon && (!close || colon > close) ? (size_t)(colon - s) : n;

    if (host < n && (host + 1 == n || strspn(s + host + 1, DIGITS) != n - host - 1))
        return false;
    if (*s == '[')
        return host > 2 && s[host - 1] == ']' && strspn(s + 1, DIGITS "abcdefABCDEF:") == host - 2;
    for (size_t i = 0; i <= host;) {
        size_t part = strspn(s + i, LOWER UPPER DIGITS "-");

        if (part == 0 || i + part > host || s[i] == '-' || s[i + part - 1] == '-' ||
            (i + part < host && s[i + part] != '.'))
            return false;
        i += part + 1;
    }
    return true;
}

/* The first part is a host when it could not be a part of a path: as docker tells them apart. */
static bool is_host(const char *s, size_t n)
{
    if (memchr(s, '.', n) || memchr(s, ':', n) || (n == 9 && strncmp(s, "localhost", n) == 0))
        return true;
    return strcspn(s, UPPER) < n;
}

static bool good_tag(const char *s, size_t n)
{
    return n > 0 && n <= TAG_MAX_ && strspn(s, LOWER UPPER DIGITS "_.-") >= n && *s != '.' &&
           *s != '-';
}

/* "sha256:" and at least 32 digits. */
static bool good_digest(const char *s)
{
    size_t kind = strspn(s, LOWER UPPER DIGITS "+._-"), digits;

    if (kind == 0 || !isalpha((unsigned char)*s) || s[kind] != ':')
        return false;
    digits = strspn(s + kind + 1, DIGITS "abcdefABCDEF");
    return digits >= 32 && s[kind + 1 + digits] == '\0';
}

const char *image_name_fault(const char *name)
{
    const char *at = strchr(name, '@'), *slash, *path = name;
    size_t n = at ? (size_t)(at - name) : strlen(name), tag;

    if (at && !good_digest(at + 1))
        return "'@' must be followed by a digest such as sha256:…";
    slash = memchr(name, '/', n);
    if (slash && is_host(name, (size_t)(slash - name))) {
        if (!good_host(name, (size_t)(slash - name)))
            return "its registry is not HOST or HOST:PORT";
        path = slash + 1;
    }
    for (tag = (size_t)(path - name); tag < n && name[tag] != ':'; tag++)
        ;
    if (tag < n && !good_tag(name + tag + 1, n - tag - 1))
        return "a tag has at most 128 letters, digits, '_', '.' and '-'";
    if (tag > NAME_MAX_)
        return "it is longer than 255 bytes";
    if (!good_path(path, tag - (size_t)(path - name)))
        return "its path may have lowercase letters and digits, with '.', '_' or '-' between them";
    return NULL;
}
