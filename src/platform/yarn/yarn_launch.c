/* yarn_launch.c - see yarn_platform_private.h. The command is fixed: whatever a user wrote reaches
 * the agent over its channel, and no shell or page of YARN sees it. */
#include "platform/yarn/yarn_image.h"
#include "platform/yarn/yarn_platform_private.h"

#include <string.h>

/* The NodeManager starts an agent that was killed again, in the same container; not one that had
 * its reasons to leave. This is the exit code of agent/supervisor.h. */
static const int32_t killed_codes[] = { 98 };

#define RELAUNCHES 3
#define RELAUNCH_WINDOW_MS (INT64_C(60) * 60 * 1000)

int yarn_launch_make_tokens(struct yarn_platform *p, struct err *err)
{
    AUTO_CREDENTIALS *c = NULL;
    int r = yarn_boot_strip(session_credentials(p->opt.session), &c, err);

    buf_reset(&p->tokens);
    if (r == 0)
        r = yarn_boot_add(p->opt.boot, c, err);
    return r < 0 ? r : credentials_write(c, &p->tokens, err);
}

static int yarn_launch_add_command(Yarn__ContainerLaunchContext *c, struct err *err)
{
    static const char *const parts[] = { "exec ./ydl-node agent --container",
                                         "1><LOG_DIR>/agent.log", "2>&1" };
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(parts); i++)
        r = yarn_launch_script(c, parts[i], err);
    return r;
}

static int yarn_add_file(Yarn__ContainerLaunchContext *c, const char *name,
                         const struct yarn_facts_file *f, struct err *err)
{
    const struct yarn_file file = {
        .url = f->url,
        .size = f->size,
        .timestamp = f->timestamp,
        .archive = f->archive,
        .visibility = f->brief ? YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_APPLICATION
                               : YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_PRIVATE,
    };

    return yarn_launch_file(c, name, &file, err);
}

static int yarn_add_files(struct yarn_platform *p, const struct spec_role *role,
                          Yarn__ContainerLaunchContext *c, struct err *err)
{
    const struct yarn_facts *facts = p->opt.facts;
    int r = yarn_add_file(c, "ydl-node", &facts->program, err);

    for (size_t i = 0; r == 0 && i < facts->n_files; i++) {
        const struct yarn_facts_file *f = &facts->files[i];

        if (!f->role || str_eq(f->role, role->name))
            r = yarn_add_file(c, f->to, f, err);
    }
    return r;
}

static int make_context(struct yarn_platform *p, const struct spec_role *role,
                        Yarn__ContainerLaunchContext **ret, struct err *err)
{
    const struct yarn_retry retry = {
        .policy = YARN__CONTAINER_RETRY_POLICY__RETRY_ON_SPECIFIC_ERRORS,
        .codes = killed_codes,
        .n_codes = COUNT_OF(killed_codes),
        .max = RELAUNCHES,
        .interval_ms = 0,
        .window_ms = RELAUNCH_WINDOW_MS,
    };
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();
    int r = c ? yarn_launch_add_command(c, err) : err_oom(err);

    if (r == 0)
        r = yarn_add_files(p, role, c, err);
    if (r == 0 && p->opt.images)
        r = yarn_image_launch(p->opt.spec, role, c, err);
    if (r == 0)
        r = yarn_launch_tokens(c, p->tokens.data, p->tokens.len, err);
    if (r == 0)
        r = yarn_launch_retry(c, &retry, err);
    if (r == 0)
        *ret = take(c);
    return r;
}

/* Kept for all containers of the role, and forgotten when newer tokens come (yarn_set_tokens()). */
int yarn_launch_context(struct yarn_platform *p, const struct spec_role *role,
                        const Yarn__ContainerLaunchContext **ret, struct err *err)
{
    size_t at = (size_t)(role - p->opt.spec->roles);
    int r = 0;

    if (!p->launch)
        p->launch = calloc(p->opt.spec->n_roles, sizeof(*p->launch));
    if (!p->launch)
        return err_oom(err);
    if (!p->launch[at])
        r = make_context(p, role, &p->launch[at], err);
    *ret = p->launch[at];
    return r;
}

bool yarn_has_launched(const struct platform *base)
{
    return ((const struct yarn_platform *)base)->launch != NULL;
}

void yarn_launch_forget(struct yarn_platform *p)
{
    for (size_t i = 0; p->launch && i < p->opt.spec->n_roles; i++)
        p->launch[i] = message_free(p->launch[i]);
    free(take(p->launch));
}
