/* task_files.c - what a task finds in its directory: symbolic links to files, and to archives that
 * were unpacked once for all tasks of this agent. */
#include "agent/tasks/task_files.h"
#include "agent/agent_private.h"
#include "agent/output/last_lines.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/spawn.h"
#include "agent/tree_remove.h"
#include "base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define UNPACK_MS ((int64_t)30 * 60 * 1000) /* for one archive */
#define WORDS_MAX 8

/* An archive that is unpacked or being unpacked. */
struct unpacked {
    char *from, *dir;
    bool done;
    int result;
    struct err err;
    struct cond changed;
    struct unpacked *next;
};

struct files {
    struct unpacked *first;
    unsigned n;
    char *dir;
};

/* The command for each file name extension; FROM and TO stand for the two paths. */
static const struct {
    const char *end;
    const char *argv[WORDS_MAX];
    const char *otherwise[WORDS_MAX]; /* when the program is not there */
} tools[] = {
    { ".tar", { "tar", "-xf", "FROM", "-C", "TO", "--no-same-owner" } },
    { ".tar.gz", { "tar", "-xzf", "FROM", "-C", "TO", "--no-same-owner" } },
    { ".tgz", { "tar", "-xzf", "FROM", "-C", "TO", "--no-same-owner" } },
    { ".tar.bz2", { "tar", "-xjf", "FROM", "-C", "TO", "--no-same-owner" } },
    { ".tar.xz", { "tar", "-xJf", "FROM", "-C", "TO", "--no-same-owner" } },
    { ".tar.zst", { "tar", "--zstd", "-xf", "FROM", "-C", "TO", "--no-same-owner" } },
    { ".zip",
      { "unzip", "-q", "-o", "FROM", "-d", "TO" },
      { "python3", "-I", "-m", "zipfile", "-e", "FROM", "TO" } },
};

/* ---- unpacking ---- */

static void files_fill(const char *const words[WORDS_MAX], const struct unpacked *u,
                       char *argv[WORDS_MAX])
{
    for (size_t i = 0; i < WORDS_MAX; i++) {
        if (str_eq(words[i], "FROM"))
            argv[i] = u->from;
        else if (str_eq(words[i], "TO"))
            argv[i] = u->dir;
        else
            argv[i] = (char *)words[i];
    }
    argv[WORDS_MAX - 1] = NULL;
}

/* Runs one of the tools, with its output in a file beside the directory. */
static int run_tool(struct agent *a, const char *const words[WORDS_MAX], const struct unpacked *u,
                    struct err *err)
{
    AUTO_FREE char *log = str_printf("%s.log", u->dir);
    AUTO_CLOSE int fd = log ? open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    AUTO_BUF said = { .max = 400 };
    struct helper h = { 0 };
    char *argv[WORDS_MAX];
    struct spawn_spec spec = { .argv = argv, .envp = environ, .out = fd, .err = fd };
    int r;

    if (fd < 0)
        return err_sys(err, "unpack '%s'", u->from);
    if (a->leave.begun)
        return err_set(err, -ECANCELED, "unpack '%s': the job has ended", u->from);
    files_fill(words, u, argv);
    spec.extra = spec.cgroup = -1;
    r = spawn_start(a->spawner, &spec, &h.pid, err);
    if (r < 0)
        return err_wrap(err, r, "unpack '%s'", u->from);
    r = helper_wait(a, &h, loop_in(a->loop, UNPACK_MS));
    if (r < 0)
        return err_code(err, r, "unpack '%s'", u->from);
    if (h.status == 0)
        return 0;
    (void)lines_last(log, 2, &said);
    for (size_t i = 0; i < said.len; i++)
        said.data[i] = said.data[i] == '\n' ? ' ' : said.data[i];
    return err_set(err, -EBADMSG, "unpack '%s': %s", u->from,
                   said.len && buf_text(&said) ? (const char *)said.data : words[0]);
}

static int files_unpack(struct agent *a, const struct unpacked *u, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        int r;

        if (!str_ends(u->from, tools[i].end))
            continue;
        r = path_mkdirs(u->dir, 0700, err);
        if (r == 0)
            r = run_tool(a, tools[i].argv, u, err);
        if (r == -ENOENT && tools[i].otherwise[0]) {
            err_clear(err);
            r = run_tool(a, tools[i].otherwise, u, err);
        }
        return r;
    }
    err_set(err, -EINVAL, "'%s' is not an archive that ydl can unpack", u->from);
    err_hint(err, "supported: tar, tar.gz, tgz, tar.bz2, tar.xz, tar.zst and zip");
    return -EINVAL;
}

static void unpacked_free(struct unpacked *u)
{
    free(u->from);
    free(u->dir);
    free(u);
}

static struct unpacked *unpacked_new(struct agent *a, const char *from)
{
    struct unpacked *u = calloc(1, sizeof(*u));

    if (!a->files)
        a->files = calloc(1, sizeof(*a->files));
    if (a->files && !a->files->dir)
        a->files->dir = str_printf("%s/unpacked-%u", a->dirs.work, a->opt->number);
    if (u && a->files && a->files->dir) {
        u->from = strdup(from);
        u->dir = str_printf("%s/%u", a->files->dir, a->files->n++);
    }
    if (u && u->from && u->dir)
        return u;
    if (u)
        unpacked_free(u);
    return NULL;
}

/* Unpacks it from scratch: an earlier try may have left a part, which can be large. */
static void unpack_now(struct agent *a, struct unpacked *u)
{
    u->done = false;
    err_clear(&u->err);
    u->result = remove_tree(a, u->dir, &u->err);
    if (u->result == 0)
        u->result = files_unpack(a, u, &u->err);
    u->done = true;
    cond_wake_all(&u->changed);
}

/* The directory with the archive's contents, unpacked by the first caller. A failure is retried by
 * the next one: the disk may have been full. */
static int unpacked_dir(struct agent *a, const char *from, const char **ret, struct err *err)
{
    struct unpacked *u = a->files ? a->files->first : NULL;

    while (u && !str_eq(u->from, from))
        u = u->next;
    if (!u) {
        u = unpacked_new(a, from);
        if (!u)
            return err_oom(err);
        u->next = a->files->first;
        a->files->first = u;
        unpack_now(a, u);
    } else if (u->done && u->result < 0) {
        unpack_now(a, u);
    }
    while (!u->done) {
        int r = cond_wait(a->loop, &u->changed, LOOP_NEVER); /* whoever unpacks has a deadline */

        if (r < 0)
            return err_code(err, r, "unpack '%s'", from);
    }
    if (u->result < 0)
        *err = u->err;
    *ret = u->dir;
    return u->result;
}

/* ---- links ---- */

/* A name inside the directory: no "..", nothing absolute. */
static bool inside(const char *to)
{
    AUTO_STRS parts = { 0 };

    if (*to == '\0' || *to == '/' || strs_split(&parts, to, "/") < 0 || parts.n == 0)
        return false;
    return !strs_has(&parts, "..");
}

static bool links_to(const char *path, const char *target)
{
    char now[4096];
    ssize_t n = readlink(path, now, sizeof(now) - 1);

    if (n < 0)
        return false;
    now[n] = '\0';
    return str_eq(now, target);
}

/* The name is the job's and must stay inside the task's directory. A link that is there already and
 * leads to the same file is an earlier attempt's. */
static int task_files_place(struct agent_task *t, const Agent__FileLink *f, struct err *err)
{
    AUTO_FREE char *work = prepare_path(t, "work");
    AUTO_FREE char *path = work ? path_join(work, f->to) : NULL;
    AUTO_FREE char *dir = path ? path_dir(path) : NULL;
    const char *target = f->from;
    int r;

    if (!dir)
        return err_oom(err);
    if (!inside(f->to))
        return err_set(err, -EINVAL, "'%s' is not a valid name for a file in the task's directory",
                       f->to);
    if (access(f->from, R_OK) < 0)
        return err_sys(err, "use '%s'", f->from);
    if (f->archive) {
        r = unpacked_dir(t->agent, f->from, &target, err);
        if (r < 0)
            return r;
    }
    r = path_mkdirs(dir, 0700, err);
    if (r < 0)
        return r;
    if (symlink(target, path) < 0 && !(errno == EEXIST && links_to(path, target)))
        return err_sys(err, "put '%s' in place as '%s'", f->from, f->to);
    return 0;
}

int files_place(struct agent_task *t, const Agent__PrepareTask *m, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < m->n_files && r == 0; i++)
        r = task_files_place(t, m->files[i], err);
    return r;
}

void files_done(struct agent *a)
{
    if (!a->files)
        return;
    if (a->files->dir)
        (void)remove_tree(a, a->files->dir, NULL);
    while (a->files->first) {
        struct unpacked *u = a->files->first;

        a->files->first = u->next;
        unpacked_free(u);
    }
    free(a->files->dir);
    free(a->files);
    a->files = NULL;
}
