/* launch_local.c - the job's directory is complete before the master starts, and the master says
 * on a socket that it is ready or why it is not: `ydl run` never polls for it. See
 * launch_local.h. */
#include "launch/launch_local.h"
#include "base/path.h"
#include "cli/exit.h"
#include "job/protocol.h"
#include "launch/hdfs_fetch.h"
#include "launch/machine_check.h"
#include "loop/loop.h"
#include "loop/sock.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define READY_MS 30000
#define READY_TEXT_MAX 2048
#define NAMES_MAX (16 * KIB)

int launch_node_program(char **ret, struct err *err)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    AUTO_FREE char *dir = NULL;

    if (n < 0)
        return err_sys(err, "find our own program");
    self[n] = '\0';
    dir = path_dir(self);
    *ret = dir ? path_join(dir, "ydl-node") : NULL;
    if (!*ret)
        return err_oom(err);
    if (access(*ret, X_OK) < 0) {
        err_sys(err, "find '%s'", *ret);
        err_hint(err, "ydl and ydl-node must be in the same directory");
        return -ENOENT;
    }
    return 0;
}

/* ---- what the master is told ---- */

/* Our name, or null where the system has none for us. */
static json_t *user_json(void)
{
    AUTO_FREE char *names = malloc(NAMES_MAX);
    struct passwd entry, *user = NULL;

    if (!names || getpwuid_r(geteuid(), &entry, names, NAMES_MAX, &user) != 0)
        return json_null();
    return json_text(user ? user->pw_name : NULL);
}

/* Of all that tasks leave in $YDL_OUT; NULL when the job does not say. A directory here comes
 * first: what is to go elsewhere too is copied from there. */
static const char *target_of_all(const struct spec *s)
{
    const char *found = NULL;

    for (size_t i = 0; i < s->output.n; i++) {
        const struct spec_file *f = &s->output.v[i];

        if (!*f->from && (!found || (spec_is_remote(found) && !spec_is_remote(f->to))))
            found = f->to;
    }
    return found;
}

/* Beside the logs. */
static char *own_out_dir(const struct job_dir *d)
{
    AUTO_FREE char *own = path_join(d->path, JOBS_OUT);

    return own && mkdir(own, 0700) == 0 ? take(own) : NULL;
}

/* Where the user wants results, else ./ydl-out/JOB. NULL when out of memory. */
static char *wanted_dir(const char *target, const char *cwd, const char *id)
{
    AUTO_FREE char *all = target ? NULL : path_join(cwd, "ydl-out");

    if (target)
        return path_join(cwd, target);
    return all ? path_join(all, id) : NULL;
}

char *launch_out(const struct spec *s, const char *cwd, const char *id)
{
    const char *target = target_of_all(s);
    AUTO_FREE char *plain = target ? strdup(target) : NULL;

    if (target && spec_is_remote(target))
        return strdup("<directory of the job>/" JOBS_OUT);
    if (plain)
        check_plain_path(plain);
    return target && !plain ? NULL : wanted_dir(plain, cwd, id);
}

/* The directory that the user named: any failure has the exit code of output that cannot be
 * created. First of all, so that a job whose results have no place leaves nothing behind. */
static int launch_make_target(const struct spec *s, const char *cwd, struct err *err)
{
    const char *target = target_of_all(s);
    AUTO_FREE char *dir = NULL;
    int r;

    if (!target || spec_is_remote(target))
        return 0;
    dir = wanted_dir(target, cwd, "");
    if (!dir)
        return err_oom(err);
    r = path_mkdirs(dir, 0777, err);
    if (r == 0 && access(dir, W_OK | X_OK) < 0)
        r = err_sys(err, "write there");
    if (r == 0)
        return 0;
    err_wrap(err, r, "results cannot go to '%s'", dir);
    return EXIT_NOT_MADE;
}

/* The directory for results, made; or a place of ours: while they wait to be copied elsewhere, or
 * where ./ydl-out cannot be written to. */
static char *out_dir(const struct spec *s, const char *cwd, const struct job_dir *d)
{
    const char *target = target_of_all(s);
    AUTO_FREE char *wanted = NULL;

    if (target && spec_is_remote(target))
        return own_out_dir(d);
    wanted = wanted_dir(target, cwd, d->id);
    if (!wanted)
        return NULL;
    if (path_mkdirs(wanted, 0777, NULL) == 0)
        return take(wanted);
    return target ? NULL : own_out_dir(d);
}

/* Written in its complete form: the master sees what was checked, and not what was typed. */
static int launch_write_spec(const struct spec *s, const struct job_dir *d, struct err *err)
{
    AUTO_BUF text = { .max = SPEC_FILE_MAX };
    AUTO_FREE char *path = path_join(d->path, "spec.json");
    int r = path ? spec_print(s, &text, err) : err_oom(err);

    return r < 0 ? r : path_write_new(path, text.data, text.len, 0600, err);
}

static int write_facts(const struct spec *s, const struct launch_options *o,
                       const struct job_dir *d, struct err *err)
{
    AUTO_JSON *facts = NULL;
    AUTO_FREE char *out = out_dir(s, o->here, d);
    int r;

    if (!out)
        return err_sys(err, "make a directory for results");
    r = json_make(&facts, err, "{s:i, s:s, s:o, s:o, s:I, s:o, s:o, s:b, s:o}", PROTOCOL_KEY,
                  protocol_number(PROTOCOL_JOB), "id", d->id, "name", json_text(s->name), "user",
                  user_json(), "created", (json_int_t)loop_wall(), "cwd", json_text(o->cwd), "out",
                  json_text(out), "attached", o->attached, "command",
                  json_texts(o->command, SIZE_MAX));
    return r < 0 ? r : jobs_write_facts(d, facts, err);
}

/* ---- starting it ---- */

/* "CODE SENTENCE\nHINT\n", as the master says why it could not start. */
static int master_failed(char *text, const char *log, struct err *err)
{
    char *sentence = strchr(text, ' '), *hint = strchr(text, '\n');
    int64_t code = 0;

    if (sentence)
        *sentence++ = '\0';
    if (hint)
        *hint++ = '\0';
    if (!sentence || !hint || str_to_i64(text, INT_MIN, -1, &code) < 0) {
        err_set(err, -EPROTO, "the job's master ended before it was ready");
        err_hint(err, "see '%s'", log);
        return -EPROTO;
    }
    err_set(err, (int)code, "%s", sentence);
    if (*hint && *hint != '\n')
        err_hint(err, "%.*s", (int)strcspn(hint, "\n"), hint);
    return (int)code;
}

/* The end of the stream is the end of the message. A master that dies first closes it as well, and
 * then its log has the reason. */
static int launch_read_ready(struct loop *l, int fd, const char *log, struct err *err)
{
    AUTO_SOCK *s = NULL;
    char text[READY_TEXT_MAX];
    size_t n = 0;
    ssize_t got = 1;

    if (sock_from_fd(l, fd, &s, err) < 0)
        return err->code;
    while (n < sizeof(text) - 1 && got > 0) {
        got = sock_read(s, text + n, sizeof(text) - 1 - n, loop_in(l, READY_MS));
        if (got > 0)
            n += (size_t)got;
    }
    text[n] = '\0';
    if (got < 0 && got != -ECONNRESET)
        return err_code(err, (int)got, "wait for the job's master");
    return str_starts(text, "ready") ? 0 : master_failed(text, log, err);
}

/* The master's standard input is the job's lock: it has it from its first instruction on, so the
 * job is never seen without one, and keeps it until it dies. Standard output is the socket on which
 * it says that it is ready, standard error its log. Our copy of its end is closed, or its death
 * would not end the stream. */
static int start_master(struct loop *l, struct job_dir *d, struct proc **ret, struct err *err)
{
    AUTO_FREE char *program = NULL;
    AUTO_FREE char *log = path_join(d->path, "master.log");
    AUTO_CLOSE int log_fd = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    AUTO_CLOSE int ours = -1;
    AUTO_CLOSE int theirs = -1;
    int pair[2], r = launch_node_program(&program, err);
    char *argv[] = { (char *)"ydl-node", (char *)"master", (char *)"--dir", d->path, NULL };
    struct proc_spec spec = { .program = program, .argv = argv };

    if (r < 0)
        return r;
    if (log_fd < 0)
        return err_sys(err, "make '%s'", log ? log : "master.log");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_sys(err, "make a pair of sockets");
    ours = pair[0];
    theirs = pair[1];
    spec.program = program;
    spec.fds[0] = d->lock;
    spec.fds[1] = theirs;
    spec.fds[2] = log_fd;
    r = proc_start(l, &spec, ret, err);
    if (r < 0)
        return r;
    close(take_fd(theirs));
    return launch_read_ready(l, take_fd(ours), log, err);
}

static void remove_out(const struct job_dir *d)
{
    AUTO_JSON *facts = NULL;
    const char *out;

    if (jobs_facts(d, &facts, NULL) < 0)
        return;
    out = json_string_value(json_object_get(facts, "out"));
    if (out)
        (void)rmdir(out);
}

/* ---- all of it ---- */

/* Strips the scheme: from here on "file:///a" is "/a". */
static void plain_paths(struct spec *s)
{
    struct spec_files *lists[] = { &s->files, &s->archives };

    for (size_t i = 0; i < s->output.n; i++)
        check_plain_path(s->output.v[i].to);
    for (size_t k = 0; k < COUNT_OF(lists); k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            check_plain_path(lists[k]->v[i].from);
    for (size_t k = 0; k < s->n_roles; k++) {
        for (size_t i = 0; i < s->roles[k].files.n; i++)
            check_plain_path(s->roles[k].files.v[i].from);
        for (size_t i = 0; i < s->roles[k].archives.n; i++)
            check_plain_path(s->roles[k].archives.v[i].from);
    }
}

/* Writes the files that the master needs into the job's directory. */
static int launch_write_job(struct spec *s, const struct launch_options *o, const struct job_dir *d,
                            struct err *err)
{
    int r = 0;

    if (o->session)
        r = fetch_files(o->session, s, d, o->quiet, err);
    if (r == 0 && o->session)
        r = fetch_access(o->session, s, d, err);
    if (r == 0)
        r = launch_write_spec(s, d, err);
    return r < 0 ? r : write_facts(s, o, d, err);
}

/* A failure removes the job's directory with everything in it: nobody has been told its name yet.
 */
int launch_local(struct loop *l, struct spec *s, const struct launch_options *options,
                 struct job_dir *ret_dir, struct proc **ret_master, struct err *err)
{
    AUTO_FREE char *state = NULL, *here = getcwd(NULL, 0);
    struct launch_options o = *options;
    AUTO_JOB_DIR d = JOB_DIR_INIT;
    AUTO_PROC *master = NULL;
    int r = here ? jobs_state_dir(&state, err) : err_sys(err, "find the current directory");

    o.here = o.cwd ? o.cwd : here;
    o.cwd = o.cwd ? o.cwd : s->directory ? s->directory : here;
    plain_paths(s);
    if (r == 0)
        r = launch_make_target(s, o.here, err);
    if (r == 0)
        r = jobs_create(state, &d, err);
    if (r < 0)
        return r;
    r = launch_write_job(s, &o, &d, err);
    if (r == 0)
        r = start_master(l, &d, &master, err);
    if (r < 0) {
        master = proc_free(master);
        remove_out(&d);
        (void)jobs_remove(&d, NULL);
        return r;
    }
    close(take_fd(d.lock)); /* the master has it */
    if (ret_master)
        *ret_master = take(master);
    else
        proc_detach(take(master));
    *ret_dir = d;
    d = (struct job_dir)JOB_DIR_INIT;
    return 0;
}
