/* pip.c - the lock of an environment is passed to pip as its standard input, so that it is held
 * until pip ends, even when ydl is killed and pip is orphaned.
 *
 *     ~/.cache/ydl/pip/KEY/lock      held while it is made, by us and then by pip itself
 *                          log       pip's output
 *                          env/      the environment
 *                          done      there when it is complete; its time is that of the last use
 *
 * KEY says what is in it (pip_key.c): the same packages for the same Python are made once. See
 * pip.h. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "loop/proc.h"
#include "pyenv/pip_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <uv.h>

#define LOOK_MS 250
#define ASK_MS 60000
#define MAKE_MS ((int64_t)6 * 60 * 60 * 1000) /* some packages are compiled */
#define MONTH ((time_t)30 * 24 * 60 * 60)
#define LINE_MAX_ 400
#define TELL                                                                                       \
    "import sys, sysconfig; print(sys.implementation.cache_tag, sys.version_info[:3], "            \
    "sys.base_prefix, sysconfig.get_platform(), sep='|')"

struct making {
    struct loop *loop;
    const struct pip_options *o;
    char *dir, *env, *log, *done;
    int lock, out; /* descriptors */
    struct proc *proc;
    bool interrupted;
};

/* ---- signals ---- */

/* `ydl run` leaves them to the system until there is a job; pip would live on. */
struct signals {
    uv_signal_t v[2];
    unsigned open;
    struct cond closed;
};

static void pip_on_signal(uv_signal_t *h, int signum)
{
    struct making *m = h->data;

    (void)signum;
    m->interrupted = true;
    if (m->proc)
        (void)proc_signal_group(m->proc, SIGTERM);
}

/* A signal only notes the interruption and passes it to what runs; every step looks at the note. */
static void signals_begin(struct signals *s, struct making *m)
{
    static const int numbers[] = { SIGINT, SIGTERM };

    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (uv_signal_init(loop_uv(m->loop), &s->v[i]) < 0)
            return;
        s->v[i].data = m;
        s->open++;
        (void)uv_signal_start(&s->v[i], pip_on_signal, numbers[i]);
    }
}

static void pip_on_closed(uv_handle_t *h)
{
    struct signals *s = h->data;

    s->open--;
    cond_wake_all(&s->closed);
}

static void signals_end(struct signals *s, struct loop *l)
{
    unsigned n = s->open;

    for (unsigned i = 0; i < n; i++) {
        s->v[i].data = s;
        uv_close((uv_handle_t *)&s->v[i], pip_on_closed);
    }
    fiber_shield(l, true);
    while (s->open > 0)
        (void)cond_wait(l, &s->closed, LOOP_NEVER);
    fiber_shield(l, false);
}

/* ---- running something ---- */

/* The last line with something in it. */
static void pip_last_line(const struct making *m, char ret[LINE_MAX_])
{
    char text[LINE_MAX_];
    off_t size = lseek(m->out, 0, SEEK_END),
          from = size > LINE_MAX_ - 1 ? size - (LINE_MAX_ - 1) : 0;
    ssize_t n = pread(m->out, text, LINE_MAX_ - 1, from);
    char *begin;

    ret[0] = '\0';
    while (n > 0 && strchr(" \r\n", text[n - 1]))
        n--;
    if (n <= 0)
        return;
    text[n] = '\0';
    begin = strrchr(text, '\n');
    (void)str_clean(ret, LINE_MAX_, begin ? begin + 1 : text);
}

static int pip_watch(struct making *m, int64_t deadline, int *status)
{
    char before[LINE_MAX_] = "", now[LINE_MAX_];
    int r;

    do {
        r = proc_wait(m->proc, loop_in(m->loop, LOOK_MS), status);
        pip_last_line(m, now);
        if (r == -ETIMEDOUT && m->o->on_line && *now && !str_eq(now, before))
            m->o->on_line(m->o->arg, now);
        memcpy(before, now, sizeof(before));
        if (r == -ETIMEDOUT && loop_now(m->loop) >= deadline)
            return -ETIME;
    } while (r == -ETIMEDOUT);
    return r;
}

/* Its output goes to m->out. The lock is its standard input: as long as it lives, nobody else
 * makes the same, even if we are killed. */
static int pip_run(struct making *m, const char *program, char **argv, int *status, struct err *err)
{
    struct proc_spec spec = { .program = program,
                              .argv = argv,
                              .fds = { m->lock, m->out, m->out } };
    int r = m->interrupted ? -ECANCELED : proc_start(m->loop, &spec, &m->proc, err);

    if (r == 0) {
        r = pip_watch(m, loop_in(m->loop, MAKE_MS), status);
        if (r < 0)
            (void)proc_end(m->proc, 1000, status);
        m->proc = proc_free(m->proc);
    }
    if (m->interrupted || r == -ECANCELED)
        return err_set(err, -ECANCELED, "interrupted");
    return r == -ETIME ? err_set(err, r, "pip has not finished within %d hours", 6) : r;
}

/* ---- its parts ---- */

/* Which Python it is for, in its own words. */
static int ask_python(struct making *m, char **ret, struct err *err)
{
    char *argv[] = { (char *)"python3", (char *)"-I", (char *)"-c", (char *)TELL, NULL };
    AUTO_CLOSE int out = memfd_create("python", MFD_CLOEXEC);
    char text[1024];
    ssize_t n;
    int status = 0, r;

    if (out < 0)
        return err_sys(err, "make a file");
    m->lock = -1;
    m->out = out;
    r = pip_run(m, "python3", argv, &status, err);
    m->out = -1;
    if (r == -ENOENT) {
        err_hint(err, "packages are installed with the python3 in PATH");
        return r;
    }
    n = r < 0 ? r : pread(out, text, sizeof(text) - 1, 0);
    if (r < 0)
        return r;
    if (status != 0 || n <= 0)
        return err_set(err, -EINVAL, "python3 does not work: exit code %d", proc_exit_code(status));
    *ret = strndup(text, (size_t)n);
    return *ret ? 0 : err_oom(err);
}

static int pip_name_places(struct making *m, const char *key, struct err *err)
{
    AUTO_FREE char *cache = NULL, *all = NULL;
    int r = path_xdg(PATH_CACHE, "ydl", &cache, err);

    if (r < 0)
        return r;
    all = path_join(cache, "pip");
    m->dir = all ? path_join(all, key) : NULL;
    m->env = m->dir ? path_join(m->dir, "env") : NULL;
    m->log = m->dir ? path_join(m->dir, "log") : NULL;
    m->done = m->dir ? path_join(m->dir, PIP_DONE) : NULL;
    if (!m->env || !m->log || !m->done)
        return err_oom(err);
    r = path_mkdirs(m->dir, 0700, err);
    if (r == 0 && path_trusted(m->dir, err) < 0) { /* what is found there runs on every node */
        err_hint(err, "set XDG_CACHE_HOME to a directory of your own");
        r = -EPERM;
    }
    return r;
}

/* Somebody else may be making the same. */
static int pip_take_lock(struct making *m, struct err *err)
{
    AUTO_FREE char *path = path_join(m->dir, "lock");
    int r = 0;

    m->lock = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (m->lock < 0)
        return err_sys(err, "open '%s'", path ? path : "lock");
    while (r == 0 && flock(m->lock, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_sys(err, "lock '%s'", path);
        if (m->o->on_line)
            m->o->on_line(m->o->arg, "waiting for another ydl that makes the same environment");
        r = fiber_sleep(m->loop, LOOK_MS);
        if (m->interrupted)
            r = -ECANCELED;
    }
    return r < 0 ? err_set(err, -ECANCELED, "interrupted") : 0;
}

/* ---- making it ---- */

/* pip's own words, without those that say where the log is. */
static int pip_failed(struct making *m, const char *what, int status, struct err *err)
{
    char line[LINE_MAX_];

    pip_last_line(m, line);
    err_set(err, -EINVAL, "%s failed (exit code %d)%s%s", what, proc_exit_code(status),
            *line ? ": " : "", line);
    return -EINVAL;
}

static int make_venv(struct making *m, struct err *err)
{
    char *argv[] = { (char *)"python3", (char *)"-I", (char *)"-m", (char *)"venv", m->env, NULL };
    int status = 0, r = pip_run(m, "python3", argv, &status, err);

    if (r < 0 || status == 0)
        return r;
    r = pip_failed(m, "python3 -m venv", status, err);
    err_hint(err, "on Debian it needs the package python3-venv");
    return r;
}

static int pip_install(struct making *m, struct err *err)
{
    static const char *const fixed[] = { "-I", /* nothing of the working directory is a module */
                                         "-m",
                                         "pip",
                                         "install",
                                         "--no-input",
                                         "--disable-pip-version-check",
                                         "--no-color",
                                         "--progress-bar=off" };
    AUTO_FREE char *python = path_join(m->env, "bin/python");
    AUTO_STRS argv = { 0 };
    int status = 0, r = python ? strs_add(&argv, python) : -ENOMEM; /* it finds itself by that */

    for (size_t i = 0; i < COUNT_OF(fixed) && r == 0; i++)
        r = strs_add(&argv, fixed[i]);
    for (size_t i = 0; i < m->o->words->n && r == 0; i++) {
        const char *file = pip_requirements(m->o->words->v[i]);

        r = file ? strs_add(&argv, "-r") : 0;
        if (r == 0)
            r = strs_add(&argv, file ? file : m->o->words->v[i]);
    }
    if (r < 0)
        return err_oom(err);
    r = pip_run(m, python, argv.v, &status, err);
    return r < 0 || status == 0 ? r : pip_failed(m, "pip install", status, err);
}

static int pip_make(struct making *m, struct err *err)
{
    int r;

    m->out = open(m->log, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (m->out < 0)
        return err_sys(err, "open '%s'", m->log);
    if (m->o->on_begin)
        m->o->on_begin(m->o->arg);
    r = path_remove(m->env, err);
    if (r == 0)
        r = make_venv(m, err);
    if (r == 0)
        r = pip_install(m, err);
    if (r < 0) {
        (void)path_remove(m->env, NULL);
        return r;
    }
    return path_write(m->done, "", 0, 0600, err);
}

/* ---- what nobody uses ---- */

static void drop_old(const char *all, const char *name)
{
    AUTO_FREE char *dir = path_join(all, name), *done = dir ? path_join(dir, PIP_DONE) : NULL,
                   *lock = dir ? path_join(dir, "lock") : NULL;
    AUTO_CLOSE int fd = -1;
    struct stat st;

    if (!done || !lock || stat(done, &st) < 0 || st.st_mtime > time(NULL) - MONTH)
        return;
    fd = open(lock, O_RDWR | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return;
    (void)unlink(done); /* first: what is half removed is not used */
    (void)path_remove(dir, NULL);
}

static void pip_prune(const struct making *m)
{
    AUTO_FREE char *all = path_dir(m->dir);
    AUTO_DIR DIR *d = all ? opendir(all) : NULL;
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (strlen(e->d_name) == PIP_KEY_TEXT - 1)
            drop_old(all, e->d_name);
}

/* ---- all of it ---- */

/* Looked for after the lock was taken: whoever held it may have made it. */
static int find_or_make(struct making *m, struct err *err)
{
    AUTO_FREE char *python = NULL;
    char key[PIP_KEY_TEXT];
    int r = ask_python(m, &python, err);

    if (r == 0)
        r = pip_key(m->o->words, python, key, err);
    if (r == 0)
        r = pip_name_places(m, key, err);
    if (r == 0)
        r = pip_take_lock(m, err);
    if (r < 0)
        return r;
    if (access(m->done, F_OK) == 0) {
        (void)utimensat(AT_FDCWD, m->done, NULL, 0); /* used today */
        return 0;
    }
    r = pip_make(m, err);
    if (r == 0)
        pip_prune(m);
    return r;
}

int pip_env(struct loop *l, const struct pip_options *o, char **ret, char **ret_log,
            struct err *err)
{
    struct making m = { .loop = l, .o = o, .lock = -1, .out = -1 };
    struct signals signals = { 0 };
    int r;

    signals_begin(&signals, &m);
    r = find_or_make(&m, err);
    signals_end(&signals, l);
    if (r == 0)
        *ret = take(m.env);
    else if (m.out >= 0)
        *ret_log = take(m.log);
    if (m.out >= 0)
        close(m.out);
    if (m.lock >= 0)
        close(m.lock);
    free(m.dir);
    free(m.env);
    free(m.log);
    free(m.done);
    return r;
}
