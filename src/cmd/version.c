/* version.c - `ydl version`: ours, and that of every library that is linked in. */
#include "base/json.h"
#include "cli/globals.h"
#include "cmd/verbs.h"

#include <ares.h>
#include <expat.h>
#include <gnu/libc-version.h>
#include <llhttp.h>
#include <openssl/opensslv.h>
#include <protobuf-c/protobuf-c.h>
#include <uv.h>
#include <yaml.h>
#include <zlib.h>
#include <zookeeper/zookeeper_version.h>

/* The oldest C library that `ydl` runs with; a test compares it with the program's symbols. */
#define GLIBC_NEEDED "2.34"

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)
#define LLHTTP_VERSION_TEXT                                                                        \
    TEXT_OF(LLHTTP_VERSION_MAJOR)                                                                  \
    "." TEXT_OF(LLHTTP_VERSION_MINOR) "." TEXT_OF(LLHTTP_VERSION_PATCH)

static const char *expat_version(void)
{
    const char *text = XML_ExpatVersion(); /* "expat_2.5.0" */

    return str_starts(text, "expat_") ? text + 6 : text;
}

static const char *cares_version(void)
{
    return ares_version(NULL);
}

/* By the library where it says it, else by its header: both come in one package, and asking OpenSSL
 * or zlib would link half of it. */
static const struct {
    const char *name, *header;
    const char *(*version)(void);
} libraries[] = {
    { "libuv", NULL, uv_version_string },
    { "OpenSSL", OPENSSL_VERSION_STR, NULL },
    { "protobuf-c", NULL, protobuf_c_version },
    { "jansson", NULL, jansson_version_str },
    { "expat", NULL, expat_version },
    { "c-ares", NULL, cares_version },
    { "libyaml", NULL, yaml_get_version_string },
    { "llhttp", LLHTTP_VERSION_TEXT, NULL },
    { "zlib", ZLIB_VERSION, NULL },
    { "ZooKeeper", ZOO_VERSION, NULL },
};

static const char *library_version(size_t i)
{
    return libraries[i].header ? libraries[i].header : libraries[i].version();
}

static int version_print_json(const struct cli *c, struct err *err)
{
    AUTO_JSON *v = NULL;
    json_t *l;
    int r;

    r = json_make(&v, err, "{s:s, s:s, s:{}, s:{s:s, s:s}}", "program", c->program->name, "version",
                  c->program->version, "libraries", "glibc", "needed", GLIBC_NEEDED, "running",
                  gnu_get_libc_version());
    if (r < 0)
        return r;
    l = json_object_get(v, "libraries");
    for (size_t i = 0; i < COUNT_OF(libraries); i++)
        if (json_object_set_new(l, libraries[i].name, json_text(library_version(i))) < 0)
            return err_oom(err);
    return json_print(stdout, v, err);
}

static int version_run(struct cli *c, struct err *err)
{
    if (globals_of(c)->json)
        return version_print_json(c, err);
    printf("%s %s\n", c->program->name, c->program->version);
    for (size_t i = 0; i < COUNT_OF(libraries); i++)
        printf("  %-12s %s\n", libraries[i].name, library_version(i));
    printf("  %-12s %s (ydl needs %s or newer; ydl-node includes its own)\n", "glibc",
           gnu_get_libc_version(), GLIBC_NEEDED);
    return 0;
}

/* clang-format off */
const struct cli_verb verb_version = {
    .name = "version", .summary = "print the version of ydl and its libraries",
    .lacks = GLOBALS_CLUSTER, .run = version_run,
    .text = "Prints the version of ydl, of the C library it needs, and of every third-party "
            "library linked into it. 'ydl --version' does the same.",
    CLI_EXAMPLES({ "ydl version --json", "print the versions as JSON" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "program\tThe program's name.\n"
        "version\tIts version.\n"
        "libraries\tAn object: the version of every library linked in, by name.\n"
        "glibc\tAn object: needed, the oldest C library that ydl runs with, and running, the one "
        "in use." }),
};
/* clang-format on */
