/* yarn_image.c - environment variables tell YARN's docker runtime what to run; its failures are
 * known only by the words of docker and container-executor, which are listed here. See
 * yarn_image.h. */
#include "platform/yarn/yarn_image.h"
#include "base/buf.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define RUNTIMES "yarn.nodemanager.runtime.linux.allowed-runtimes"
/* What container-executor says of a `docker run` that failed, by release, and docker itself; no
 * agent ends so. */
static const int32_t docker_failed[] = { 7, 29, 125 };

#define MOUNTS_MAX (64 * KIB)

int yarn_image_by_yarn(const struct spec *s, const struct conf *c, bool *ret, struct err *err)
{
    AUTO_STRS offered = { 0 };
    int r;

    *ret = s->image_by == SPEC_IMAGE_BY_YARN;
    if (s->image_by != SPEC_IMAGE_BY_AUTO)
        return 0;
    r = conf_list(c, RUNTIMES, &offered, err);
    *ret = r == 0 && strs_has(&offered, "docker");
    return r;
}

/* With a mode behind each: older versions want one. */
static int yarn_image_add_mounts(const struct spec *s, Yarn__ContainerLaunchContext *c,
                                 struct err *err)
{
    AUTO_BUF text = { .max = MOUNTS_MAX };
    int r = 0;

    for (size_t i = 0; i < s->mounts.n && r == 0; i++) {
        const char *m = s->mounts.v[i];
        bool said = str_ends(m, ":ro") || str_ends(m, ":rw");

        r = buf_printf(&text, "%s%s%s", i ? "," : "", m, said ? "" : ":rw");
    }
    if (r == -E2BIG)
        return err_set(err, r, "mounts are longer than %zu KB", (size_t)(MOUNTS_MAX / KIB));
    if (r < 0 || (text.len && !buf_text(&text)))
        return err_oom(err);
    if (!text.len)
        return 0;
    return yarn_launch_env(c, "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", (const char *)text.data, err);
}

int yarn_image_launch(const struct spec *s, const struct spec_role *role,
                      Yarn__ContainerLaunchContext *c, struct err *err)
{
    const char *image = role->image ? role->image : s->image;
    const struct {
        const char *name, *value;
    } rows[] = {
        { "YARN_CONTAINER_RUNTIME_TYPE", "docker" },
        { "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", image },
        /* Tasks meet at addresses of their nodes. */
        { "YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK", "host" },
    };
    int r = 0;

    if (!image)
        return 0;
    for (size_t i = 0; i < COUNT_OF(rows) && r == 0; i++)
        r = yarn_launch_env(c, rows[i].name, rows[i].value, err);
    return r == 0 ? yarn_image_add_mounts(s, c, err) : r;
}

/* Does the text say that the image is not there, or must not be used? */
static bool is_not_there(const char *text)
{
    static const char *const says[] = {
        "No such image",
        "Unable to find image",
        "pull access denied",
        "manifest unknown",
        "repository name not",
        "does not exist or may require 'docker login'",
        "invalid reference format",
        "is not trusted",
        "image not found",
        "not found: manifest",
    };

    for (size_t i = 0; text && i < COUNT_OF(says); i++)
        if (strcasestr(text, says[i]))
            return true;
    return text && strstr(text, "manifest for ") && strstr(text, " not found");
}

enum fail_class yarn_image_failed(const char *image, int32_t exit_status, const char *diagnostics,
                                  char *text, size_t n)
{
    static const char daemon[] = "Error response from daemon: ";
    const char *said = diagnostics ? strstr(diagnostics, daemon) : NULL;
    bool absent = is_not_there(diagnostics), failed = said || absent;
    AUTO_FREE char *known = NULL;

    for (size_t i = 0; i < COUNT_OF(docker_failed); i++)
        failed |= exit_status == docker_failed[i];
    if (!image || !failed)
        return FAIL_NONE;
    known =
        said ? strndup(said + strlen(daemon), strcspn(said + strlen(daemon), "\n")) : strdup(text);
    (void)snprintf(text, n, "YARN could not run the image '%.200s': %s", image,
                   known ? known : "its docker failed");
    return absent ? FAIL_IMAGE : FAIL_START;
}
