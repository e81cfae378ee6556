/* keytab.c - runs the helper that gets newer tokens with the job's keytab, and judges what it says.
 *
 *     sealed file ──the job's key──► keytab in memory ──► ./ydl-helper ──► time, tokens, in memory
 *
 * Three memory files are the helper's standard streams: nothing secret touches a disk, and a helper
 * that writes much can never block on a pipe that nobody reads. The first line of its answer is for
 * how many ms the tokens are good; the rest is a file of credentials. See keytab.h. */
#include "master/yarn/keytab.h"
#include "base/path.h"
#include "hadoop/token/ident.h"
#include "loop/proc.h"
#include "platform/yarn/yarn_keytab.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define HELPER_MS 120000 /* for a KDC and every NameNode of the job */
#define GRACE_MS 1000
#define ANSWER_MAX MIB
#define COMPLAINT_MAX (4 * KIB)
#define PAUSE_FIRST_MS 1000
#define PAUSE_MOST_MS ((int64_t)10 * 60 * 1000)

struct keytab {
    const struct yarn_boot *boot;
    struct buf sealed;
    char *conf_dir; /* the job's configuration, as a directory */
};

/* ---- life ---- */

/* The helper finds the cluster as the client did: its configuration, which came with the
 * credentials, is written as a directory with one file. */
static int write_conf(struct keytab *k, const char *run, struct err *err)
{
    AUTO_FREE char *file = NULL;

    k->conf_dir = path_join(run, "conf");
    file = k->conf_dir ? path_join(k->conf_dir, "core-site.xml") : NULL;
    if (!file)
        return err_oom(err);
    if (mkdir(k->conf_dir, 0700) < 0)
        return err_sys(err, "make '%s'", k->conf_dir);
    return path_write_new(file, k->boot->conf, strlen(k->boot->conf), 0600, err);
}

int keytab_open(const struct yarn_boot *boot, const char *run, struct keytab **ret, struct err *err)
{
    struct keytab *k;
    int r;

    *ret = NULL;
    if (access(YARN_KEYTAB_FILE, F_OK) < 0)
        return 0;
    k = calloc(1, sizeof(*k));
    if (!k)
        return err_oom(err);
    k->boot = boot;
    k->sealed.max = YARN_KEYTAB_SEALED_MAX;
    r = path_read(YARN_KEYTAB_FILE, &k->sealed, err);
    if (r == 0)
        r = write_conf(k, run, err);
    if (r < 0) {
        keytab_free(k);
        return err_wrap(err, r, "the job's keytab");
    }
    *ret = k;
    return 0;
}

struct keytab *keytab_free(struct keytab *k)
{
    if (!k)
        return NULL;
    buf_done(&k->sealed);
    free(k->conf_dir);
    free(k);
    return NULL;
}

/* ---- the helper's world ---- */

/* Nothing of the container that says who we are: it is to sign in with the keytab. Its memory is
 * counted as the container's, and what it only reserves counts as well. */
static int keytab_make_env(struct strs *ret)
{
    static const char *const kept[] = { "PATH", "LANG",   "TZ",          "LD_LIBRARY_PATH",
                                        "HOME", "TMPDIR", "KRB5_CONFIG", "YDL_TRACE" };
    static const char *const fixed[] = { "MALLOC_ARENA_MAX=1", "UV_THREADPOOL_SIZE=1" };
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(kept); i++) {
        const char *value = getenv(kept[i]);

        if (value)
            r = strs_take(ret, str_printf("%s=%s", kept[i], value));
    }
    for (size_t i = 0; r == 0 && i < COUNT_OF(fixed); i++)
        r = strs_add(ret, fixed[i]);
    return r;
}

static int keytab_make_argv(const struct keytab *k, const struct yarn_keytab *open,
                            struct strs *ret)
{
    const char *const words[] = { YARN_KEYTAB_HELPER, "tokens",        "--conf",
                                  k->conf_dir,        "--keytab",      "/proc/self/fd/0",
                                  "--principal",      open->principal, "--" };
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(words); i++)
        r = strs_add(ret, words[i]);
    for (size_t i = 0; r == 0 && i < open->places.n; i++)
        r = strs_add(ret, open->places.v[i]);
    return r;
}

/* Memory that the helper sees as a file: no secret of either side is ever on a disk. */
static int make_memory(const char *name, const struct buf *content, int *ret, struct err *err)
{
    AUTO_CLOSE int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "memory for the helper");
    if (content && content->len > 0 && path_write_fd(fd, content->data, content->len) < 0)
        return err_sys(err, "memory for the helper");
    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, "memory for the helper");
    *ret = take_fd(fd);
    return 0;
}

static int read_memory(int fd, struct buf *ret, struct err *err)
{
    size_t left = ret->max - ret->len;
    uint8_t *room = NULL;
    ssize_t n;

    if (buf_room(ret, left, &room) < 0)
        return err_oom(err);
    n = pread(fd, room, left, 0);
    if (n < 0)
        return err_sys(err, "read what the helper wrote");
    ret->len += (size_t)n;
    return 0;
}

/* ---- what it says ---- */

int keytab_answer(const void *p, size_t n, struct credentials **ret, int64_t *ret_ms,
                  struct err *err)
{
    const char *text = p, *end = n ? memchr(text, '\n', n) : NULL;
    char number[24];
    size_t len = end ? (size_t)(end - text) : 0;

    if (!end || len >= sizeof(number))
        return err_set(err, -EBADMSG, "the helper's answer has no beginning");
    memcpy(number, text, len);
    number[len] = '\0';
    if (str_to_i64(number, 1, INT64_MAX / 2, ret_ms) < 0)
        return err_set(err, -EBADMSG, "the helper's answer begins with no time");
    return credentials_parse(end + 1, n - len - 1, ret, err);
}

/* The helper is `ydl`, so what it writes to standard error has the form of ydl's errors: "ydl: "
 * and a sentence, and perhaps a hint in the next line. Without a sentence its status has to do. */
void keytab_complaint(const char *text, int status, struct err *err)
{
    static const char ours[] = "ydl: ", hint[] = "  hint: ";
    int first;
    const char *next;

    if (str_starts(text, ours))
        text += strlen(ours);
    first = (int)strcspn(text, "\n");
    next = text[first] ? text + first + 1 : text + first;
    if (first > 0)
        err_set(err, -EIO, "%.*s", first, text);
    else if (WIFSIGNALED(status))
        err_set(err, -EIO, "the helper was ended by signal %d", WTERMSIG(status));
    else
        err_set(err, -EIO, "the helper ended with code %d", proc_exit_code(status));
    if (str_starts(next, hint))
        err_hint(err, "%.*s", (int)strcspn(next + strlen(hint), "\n"), next + strlen(hint));
}

/* ---- one run ---- */

struct helper {
    struct loop *loop;
    int fds[3];
    int status;
};

/* -ETIMEDOUT leaves it a moment to end by SIGTERM; when we are cancelled there is no time for that.
 */
static int keytab_run(struct helper *h, const struct strs *argv, const struct strs *env,
                      struct err *err)
{
    AUTO_PROC *p = NULL;
    struct proc_spec spec = { .program = "./" YARN_KEYTAB_HELPER,
                              .argv = argv->v,
                              .envp = env->v,
                              .fds = { h->fds[0], h->fds[1], h->fds[2] } };
    int r = proc_start(h->loop, &spec, &p, err);

    if (r < 0)
        return r;
    r = proc_wait(p, loop_in(h->loop, HELPER_MS), &h->status);
    if (r == 0)
        return 0;
    (void)proc_end(p, r == -ETIMEDOUT ? GRACE_MS : 0, &h->status);
    return r == -ETIMEDOUT ? err_set(err, r, "the helper has not ended in %d s", HELPER_MS / 1000)
                           : err_code(err, r, "wait for the helper");
}

static int keytab_judge(const struct helper *h, struct credentials **ret, int64_t *ret_ms,
                        struct err *err)
{
    AUTO_BUF out = { .max = ANSWER_MAX };
    AUTO_BUF said = { .max = COMPLAINT_MAX };
    int r;

    if (!WIFEXITED(h->status) || WEXITSTATUS(h->status) != 0) {
        r = read_memory(h->fds[2], &said, err);
        if (r == 0)
            keytab_complaint(buf_text(&said) ? buf_text(&said) : "", h->status, err);
        return r < 0 ? r : -EIO;
    }
    r = read_memory(h->fds[1], &out, err);
    if (r == 0)
        r = keytab_answer(out.data, out.len, ret, ret_ms, err);
    if (out.data)
        explicit_bzero(out.data, out.len);
    return r;
}

static int run_helper(struct loop *l, const struct keytab *k, struct yarn_keytab *open,
                      struct helper *h, struct err *err)
{
    AUTO_STRS argv = { 0 };
    AUTO_STRS env = { 0 };
    int r = keytab_make_argv(k, open, &argv) < 0 || keytab_make_env(&env) < 0 ? err_oom(err) : 0;

    h->loop = l;
    if (r == 0)
        r = make_memory("keytab", &open->keytab, &h->fds[0], err);
    if (r == 0)
        r = make_memory("tokens", NULL, &h->fds[1], err);
    if (r == 0)
        r = make_memory("errors", NULL, &h->fds[2], err);
    return r < 0 ? r : keytab_run(h, &argv, &env, err);
}

int keytab_get(struct loop *l, const struct keytab *k, struct credentials **ret, int64_t *ret_ms,
               struct err *err)
{
    struct helper h = { .fds = { -1, -1, -1 } };
    AUTO_YARN_KEYTAB open = { 0 };
    int r = yarn_keytab_open(k->sealed.data, k->sealed.len, &k->boot->key, &open, err);

    if (r == 0)
        r = run_helper(l, k, &open, &h, err);
    if (r == 0)
        r = keytab_judge(&h, ret, ret_ms, err);
    for (size_t i = 0; i < COUNT_OF(h.fds); i++)
        if (h.fds[i] >= 0)
            close(h.fds[i]);
    return r < 0 ? err_wrap(err, r, "newer tokens cannot be got with the job's keytab") : 0;
}

/* ---- when ---- */

/* Three quarters of the shortest life: what is left is for tries that fail, and for agents to hear
 * of it. Only tokens that say when they were issued and when they end can be planned for. */
int64_t keytab_due(const struct credentials *c)
{
    int64_t due = INT64_MAX;

    for (size_t i = 0; i < credentials_count(c); i++) {
        const struct token *t = credentials_at(c, i, NULL);
        AUTO_IDENT id = { 0 };
        int64_t at;

        if (!str_eq(t->kind, KIND_HDFS) || ident_parse(t->kind, t->id, t->id_len, &id, NULL) < 0 ||
            id.expires <= id.issued)
            continue;
        at = id.issued + (id.expires - id.issued) / 4 * 3;
        due = at < due ? at : due;
    }
    return due;
}

/* Doubles, but never to more than an eighth of the tokens' life: there are several tries before
 * they expire, also in a cluster whose tokens live for minutes. */
int64_t keytab_pause(unsigned failures, int64_t span)
{
    int64_t most = span / 8, ms = PAUSE_FIRST_MS;

    most = most > PAUSE_MOST_MS || most <= 0 ? PAUSE_MOST_MS : most;
    while (failures-- > 1 && ms < most)
        ms *= 2;
    return ms < most || most < PAUSE_FIRST_MS ? ms : most;
}
