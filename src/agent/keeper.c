/* keeper.c - see keeper.h */
#include "agent/keeper.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINKS_DEPTH 16
#define MINDED_MS 5000
#define MINDED_PAUSE_MS 10

/* The NodeManager's signals go to the whole group: the agent does what they ask, and ends. */
static void set_signals(void (*how)(int))
{
    static const int all[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        (void)signal(all[i], how);
}

/* ---- links ---- */

static bool is_real_dir(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_link_to_dir(const char *path)
{
    struct stat link, to;

    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && stat(path, &to) == 0 &&
           S_ISDIR(to.st_mode);
}

/* Before anybody else has written here: all of them are the launch script's. */
static void find_links(const char *dir, int depth, struct strs *ret)
{
    AUTO_DIR DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        AUTO_FREE char *path = path_join(dir, e->d_name);

        if (str_eq(e->d_name, ".") || str_eq(e->d_name, "..") || !path)
            continue;
        if (is_link_to_dir(path))
            (void)strs_add(ret, path);
        else if (depth > 0 && is_real_dir(path))
            find_links(path, depth - 1, ret);
    }
}

static void remove_links(const struct strs *links)
{
    for (size_t i = 0; i < links->n; i++)
        if (is_link_to_dir(links->v[i]))
            (void)unlink(links->v[i]);
}

/* ---- life ---- */

/* What the agent left behind. Those who end by themselves get a moment to do so; a zombie of them
 * has no environment any more. */
static void end_rest(void)
{
    const struct timespec pause = { .tv_nsec = MINDED_PAUSE_MS * 1000000L };

    proc_kill_strays(proc_is_minded, NULL);
    for (int i = 0; i < MINDED_MS / MINDED_PAUSE_MS && proc_minded_left(); i++)
        (void)nanosleep(&pause, NULL);
    proc_kill_strays(NULL, NULL);
}

int keeper_run(int (*fn)(void *arg), void *arg, const char *links, struct err *err)
{
    AUTO_STRS found = { 0 };
    pid_t keeper = getpid(), child, done;
    int status = 0;

    if (links)
        find_links(links, LINKS_DEPTH, &found);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    set_signals(SIG_IGN);
    child = fork();
    if (child < 0)
        return err_sys(err, "start the agent");
    if (child == 0) {
        set_signals(SIG_DFL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != keeper)
            return err_set(err, -ECHILD, "the keeper is gone");
        return fn(arg);
    }
    do
        done = waitpid(child, &status, 0);
    while (done < 0 && errno == EINTR);
    end_rest();
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    remove_links(&found);
    return KEEPER_AGAIN;
}
