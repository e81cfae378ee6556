/* job_submission_keytab.c - see job_submission_private.h and platform/yarn/yarn_keytab.h.
 *
 * The master cannot speak Kerberos, which needs libraries of its node, so `ydl` itself goes along.
 * Agents get both files too, though they have no use for them: so that a new master finds them on
 * the nodes that the job is on, also when YARN cannot fetch anything for it any more. */
#include "base/path.h"
#include "launch/job_submission_private.h"
#include "launch/submit_tokens.h"
#include "platform/yarn/yarn_keytab.h"

#define STAGED_NAME "keytab"

static bool has_keytab(const struct submission *x)
{
    return deploy_keytab(x->o->session, x->o->spec).file != NULL;
}

int submit_keytab_ship(struct submission *x, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *program = NULL;

    if (!has_keytab(x))
        return 0;
    dir = path_dir(x->o->node_program);
    program = dir ? path_join(dir, "ydl") : NULL;
    return program ? uploads_add(x->o->ship, program, YARN_KEYTAB_HELPER, err) : err_oom(err);
}

/* ---- the keytab ---- */

static int submit_keytab_fill(struct submission *x, const struct deploy_keytab *k,
                              struct yarn_keytab *ret, struct err *err)
{
    int r;

    yarn_keytab_init(ret);
    r = path_read(k->file, &ret->keytab, err);
    if (r == 0)
        r = deploy_keytab_sign_in(x->o->session, k, &ret->principal, err);
    return r < 0 ? r : deploy_places(x->o->spec, x->o->base, &ret->places, err);
}

/* YARN wants to be told what a file looks like that it is to fetch. */
static int submit_keytab_note_file(struct submission *x, struct err *err)
{
    AUTO_FREE char *path = path_join(x->jobs, STAGED_NAME);
    AUTO_FS_ENTRY e = { 0 };
    int r = path ? fs_stat(x->fs, path, &e, err) : err_oom(err);

    if (r == 0)
        r = fs_uri(x->fs, path, &x->keytab.url, err);
    if (r < 0)
        return r;
    x->keytab.to = (char *)YARN_KEYTAB_FILE;
    x->keytab.size = (int64_t)e.length;
    x->keytab.timestamp = e.mtime;
    x->keytab.brief = true;
    return 0;
}

int submit_keytab_write(struct submission *x, struct err *err)
{
    const struct deploy_keytab k = deploy_keytab(x->o->session, x->o->spec);
    AUTO_BUF sealed = { .max = YARN_KEYTAB_SEALED_MAX };
    AUTO_YARN_KEYTAB open = { 0 };
    int r;

    if (!k.file)
        return 0;
    r = submit_keytab_fill(x, &k, &open, err);
    if (r == 0)
        r = yarn_keytab_seal(&open, &x->ret->key, &sealed, err);
    if (r == 0)
        r = submit_write(x, x->jobs, STAGED_NAME, sealed.data, sealed.len, err);
    if (r == 0)
        r = submit_keytab_note_file(x, err);
    return r < 0 ? err_wrap(err, r, "send the keytab '%s'", k.file) : 0;
}

/* ---- the master's container ---- */

int submit_keytab_launch(const struct submission *x, Yarn__ContainerLaunchContext *c,
                         struct err *err)
{
    const struct cache_file *helper = cache_files_find(&x->files, YARN_KEYTAB_HELPER);
    struct yarn_file file;
    int r;

    if (!x->keytab.url || !helper)
        return 0;
    file = (struct yarn_file){ .url = helper->url,
                               .size = (int64_t)helper->size,
                               .timestamp = helper->timestamp,
                               .visibility = YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_PRIVATE };
    r = yarn_launch_file(c, YARN_KEYTAB_HELPER, &file, err);
    if (r < 0)
        return r;
    file = (struct yarn_file){ .url = x->keytab.url,
                               .size = x->keytab.size,
                               .timestamp = x->keytab.timestamp,
                               .visibility = YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_APPLICATION };
    return yarn_launch_file(c, YARN_KEYTAB_FILE, &file, err);
}
