/* job_environment.c - shows pip's progress on one line that is wiped at its end, and the last
 * lines of its log when it fails. See job_environment.h. */
#include "launch/job_environment.h"
#include "base/path.h"
#include "launch/environment_check.h"
#include "launch/launch_options.h"
#include "pyenv/pip.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 78     /* columns of a line of pip's */
#define LOG_MAX MIB  /* of which the end is shown … */
#define LOG_LINES 15 /* … so many lines of it */

struct showing {
    const struct job_call *x;
    bool terminal, begun, line;
    int64_t began;
};

/* ---- what pip does ---- */

static void on_begin(void *arg)
{
    struct showing *s = arg;

    s->begun = true;
    if (!s->x->globals->quiet)
        fprintf(stderr, "ydl: installing packages into a new environment; later jobs with the same "
                        "packages reuse it\n");
}

static void job_environment_on_line(void *arg, const char *line)
{
    struct showing *s = arg;

    if (!s->terminal || s->x->globals->quiet)
        return;
    fprintf(stderr, "\r\033[K%.*s", SHOWN, line);
    s->line = true;
}

static void job_environment_wipe(struct showing *s)
{
    if (s->line)
        fputs("\r\033[K", stderr);
    s->line = false;
}

/* The end of what it said. */
static void show_log(const char *path)
{
    AUTO_BUF text = { .max = LOG_MAX };
    char clean[1024], *from, *end;
    int lines = 0;

    if (path_read(path, &text, NULL) < 0 || !buf_text(&text) || text.len == 0)
        return;
    end = (char *)text.data + text.len - 1;
    for (from = end; from > (char *)text.data && lines <= LOG_LINES; from--)
        lines += from < end && *from == '\n';
    from += *from == '\n' ? 1 : lines > LOG_LINES ? 2 : 0;
    for (char *next; from && *from; from = next) {
        next = strchr(from, '\n');
        if (next)
            *next++ = '\0';
        str_clean(clean, sizeof(clean), from);
        fprintf(stderr, "  pip: %s\n", clean);
    }
    fprintf(stderr, "  full log: %s\n", path);
}

static int job_environment_install(struct job_call *x, struct spec *s, struct err *err)
{
    struct showing show = { .x = x, .terminal = isatty(STDERR_FILENO), .began = loop_wall() };
    const struct pip_options o = {
        .words = &s->pip, .on_line = job_environment_on_line, .on_begin = on_begin, .arg = &show
    };
    AUTO_FREE char *dir = NULL, *log = NULL;
    int r = pip_env(x->loop, &o, &dir, &log, err);

    job_environment_wipe(&show);
    if (r < 0) {
        if (log && r == -EINVAL)
            show_log(log);
        return r;
    }
    if (show.begun && !x->globals->quiet)
        fprintf(stderr, "ydl: installed in %.0f s\n", (double)(loop_wall() - show.began) / 1000);
    s->venv = take(dir);
    strs_done(&s->pip);
    s->pip = (struct strs){ 0 };
    return 0;
}

/* ---- all of it ---- */

static int make_absolute(struct spec *s, struct err *err)
{
    AUTO_FREE char *cwd = NULL, *path = NULL;

    if (!s->venv || spec_is_remote(s->venv))
        return 0;
    cwd = getcwd(NULL, 0);
    if (!cwd)
        return err_sys(err, "find the working directory");
    path = path_join(cwd, str_starts(s->venv, "file:///") ? s->venv + 7 : s->venv);
    if (!path)
        return err_oom(err);
    free(s->venv);
    s->venv = take(path);
    return 0;
}

int job_env(struct job_call *x, struct spec *s, bool on_yarn, struct err *err)
{
    AUTO_SPEC_FAULTS f = { 0 };
    bool installed = s->pip.n > 0;
    int r = installed ? job_environment_install(x, s, err) : 0;

    if (r == 0)
        r = make_absolute(s, err);
    if (r < 0 || !installed)
        return r;
    r = check_env(s, on_yarn, &f); /* the rest was checked before */
    return r == -EINVAL ? options_faults(x->cli, &f, err) : r == -ENOMEM ? err_oom(err) : r;
}
