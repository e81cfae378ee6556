/* test_submit.c - puts ydl-test-am on a cluster.
 *
 *     ydl-test-submit [--as USER] [--queue QUEUE] [--keep] [--no-wait] PROGRAM DIR
 *
 * Uploads the program to the user's home in HDFS, from where YARN brings it to the node, and with
 * Kerberos gives it a token for that. Prints the application's id, then, unless told not to wait,
 * its final state in one line, and removes what it uploaded. With --keep a second attempt of the
 * master keeps the containers of the first. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"
#include "hadoop/hdfs/hdfs.h"
#include "hadoop/session/kerberos.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/launch_context.h"
#include "hadoop/yarn/rm_client.h"
#include "hadoop/yarn/submission.h"
#include "loop/fiber.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct test {
    struct loop *loop;
    struct session *session;
    struct yarn_client *client;
    struct fs_set *files;
    struct fs *fs; /* where the program is */
    char *path;
    const char *as_user, *queue, *program, *dir;
    bool keep, no_wait;
    struct err err;
};

/* The names of the nodes without a label, with spaces: the master cannot ask for them itself on
 * Kerberos. */
static int node_names(struct test *t, char *out, size_t size)
{
    static const Yarn__NodeState running = YARN__NODE_STATE__NODE_RUNNING;
    AUTO_RPC Yarn__GetClusterNodesResponse *answer = NULL;
    size_t n = 0;
    int r = yarn_nodes(t->client, &running, 1, &answer, &t->err);

    for (size_t i = 0; r == 0 && i < answer->n_nodes && n < size; i++)
        if (yarn_node_id(answer->nodes[i]->node_id) && answer->nodes[i]->n_labels == 0)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "",
                                  answer->nodes[i]->node_id->host);
    return r;
}

static int upload(struct test *t, const char *id, struct fs_entry *ret)
{
    AUTO_FREE char *name = str_printf("ydl-test/%s/test-am", id);
    AUTO_CLOSE int fd = open(t->program, O_RDONLY | O_CLOEXEC);
    struct fs_create options = { .parents = true, .mode = 0755 };
    AUTO_FS_WRITER *w = NULL;
    int r = name ? 0 : err_oom(&t->err);

    if (fd < 0)
        return err_sys(&t->err, "'%s'", t->program);
    if (r == 0)
        r = fs_find(t->files, name, FS_ON_CLUSTER, &t->fs, &t->path, &t->err);
    if (r == 0)
        r = fs_create(t->fs, t->path, &options, &w, &t->err);
    if (r == 0)
        r = fs_copy_in(w, fd, NULL, NULL, &t->err);
    if (r == 0)
        r = fs_close(take(w), &t->err);
    return r == 0 ? fs_stat(t->fs, t->path, ret, &t->err) : r;
}

/* The master's directory goes with it. */
static void remove_upload(struct test *t)
{
    char *slash = t->path ? strrchr(t->path, '/') : NULL;

    if (slash && !t->no_wait) {
        *slash = '\0';
        (void)fs_delete(t->fs, t->path, true, NULL);
    }
    free(t->path);
}

static int add_program(struct test *t, const char *id, Yarn__ContainerLaunchContext *c)
{
    AUTO_FREE char *url = NULL;
    struct fs_entry entry = { 0 };
    struct yarn_file file = { 0 };
    int r = upload(t, id, &entry);

    if (r == 0)
        r = fs_uri(t->fs, t->path, &url, &t->err);
    if (r == 0) {
        file = (struct yarn_file){ .url = url,
                                   .size = (int64_t)entry.length,
                                   .timestamp = entry.mtime };
        r = yarn_launch_file(c, "test-am", &file, &t->err);
    }
    fs_entry_done(&entry);
    return r;
}

/* What the NodeManager needs to read the program, renewable by the ResourceManager. */
static int add_tokens(struct test *t, Yarn__ContainerLaunchContext *c)
{
    AUTO_CREDENTIALS *credentials = NULL;
    AUTO_FREE char *uri = NULL;
    AUTO_HOSTS rms = { 0 };
    AUTO_TOKEN token = { 0 };
    AUTO_BUF bytes = { .max = 64 * KIB };
    struct hdfs *hdfs = NULL;
    int r = fs_uri(t->fs, "/", &uri, &t->err);

    if (r == 0)
        uri[strlen(uri) - 1] = '\0';
    if (r == 0)
        r = hdfs_open(t->session, strstr(uri, "://") + 3, &hdfs, &t->err);
    if (r == 0)
        r = conf_resourcemanagers(session_conf(t->session), RM_CLIENT, &rms, &t->err);
    if (r == 0)
        r = hdfs_get_token(hdfs, rms.v[0].principal, &token, &t->err);
    hdfs_close(hdfs);
    if (r >= 0)
        r = credentials_new(&credentials, &t->err);
    if (r == 0)
        r = credentials_add(credentials, token.service, &token, &t->err);
    if (r == 0)
        r = credentials_write(credentials, &bytes, &t->err);
    return r == 0 ? yarn_launch_tokens(c, bytes.data, bytes.len, &t->err) : r;
}

static int launch_of(struct test *t, const char *id, Yarn__ContainerLaunchContext **ret)
{
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();
    const char *trace = getenv("YDL_TRACE");
    char hosts[512] = "";
    int r = c ? node_names(t, hosts, sizeof(hosts)) : err_oom(&t->err);

    if (r == 0)
        r = add_program(t, id, c);
    if (r == 0 && session_secure(t->session))
        r = add_tokens(t, c);
    if (r == 0)
        r = yarn_launch_env(c, "HADOOP_CONF_DIR", conf_dir(session_conf(t->session)), &t->err);
    if (r == 0)
        r = yarn_launch_env(c, "YDL_TEST_DIR", t->dir, &t->err);
    if (r == 0)
        r = yarn_launch_env(c, "YDL_TEST_HOSTS", hosts, &t->err);
    if (r == 0 && trace)
        r = yarn_launch_env(c, "YDL_TRACE", trace, &t->err);
    if (r == 0)
        r = yarn_launch_script(c, "exec ./test-am 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr", &t->err);
    if (r == 0)
        *ret = take(c);
    return r;
}

static int submit(struct test *t, struct yarn_app_id *ret)
{
    static const char *const tags[] = { "YDL-Test" };
    AUTO_RPC Yarn__GetNewApplicationResponse *fresh = NULL;
    AUTO_MESSAGE Yarn__ContainerLaunchContext *launch = NULL;
    AUTO_MESSAGE Yarn__ApplicationSubmissionContext *context = NULL;
    struct yarn_submission s = { .name = "ydl-test-am",
                                 .type = "ydl-test",
                                 .queue = t->queue,
                                 .tags = tags,
                                 .n_tags = 1,
                                 .master = { .memory_mb = 64, .vcores = 1 } };
    char id[YARN_APP_ID_TEXT];
    int r = yarn_new_application(t->client, &fresh, &t->err);

    if (r < 0)
        return r;
    *ret = yarn_app_id_of(fresh->application_id);
    r = launch_of(t, yarn_app_id_text(*ret, id), &launch);
    if (r < 0)
        return r;
    s.launch = launch;
    s.keep_containers = t->keep;
    s.max_attempts = t->keep ? 2 : 1;
    r = yarn_submission_message(&s, *ret, fresh->maximum_capability, &context, &t->err);
    return r < 0 ? r : yarn_submit(t->client, context, 0, NULL, &t->err);
}

static int wait_for(struct test *t, struct yarn_app_id id)
{
    for (;;) {
        AUTO_RPC Yarn__GetApplicationReportResponse *answer = NULL;
        int r = yarn_report(t->client, id, &answer, &t->err);

        if (r < 0)
            return r;
        if (yarn_app_state_final(answer->report->state)) {
            printf("%s %s user=%s url=%s diagnostics=%s\n",
                   yarn_app_state_name(answer->report->state),
                   yarn_final_status_name(answer->report->final_status), answer->report->user,
                   answer->report->original_tracking_url, answer->report->diagnostics);
            return answer->report->final_status == YARN__FINAL_STATUS__FINAL_SUCCEEDED ? 0 : -EIO;
        }
        r = fiber_sleep(t->loop, 50);
        if (r < 0)
            return r;
    }
}

static int run(void *arg)
{
    struct test *t = arg;
    struct session_options options = { .as_user = t->as_user,
                                       .caller = "ydl-test-submit",
                                       .patient = true,
                                       .kerberos = &kerberos_by_gss };
    struct yarn_app_id id = { 0 };
    char text[YARN_APP_ID_TEXT];
    int r = session_new(t->loop, &options, &t->session, &t->err);

    if (r == 0)
        r = session_find_user(t->session, &t->err);
    if (r == 0)
        r = yarn_client_new(t->session, &t->client, &t->err);
    if (r == 0)
        r = fs_set_new(t->loop, t->session, &t->files, &t->err);
    if (r == 0)
        r = submit(t, &id);
    if (r == 0) {
        printf("%s\n", yarn_app_id_text(id, text));
        fflush(stdout);
        if (!t->no_wait)
            r = wait_for(t, id);
    }
    if (t->err.code)
        fprintf(stderr, "ydl-test-submit: %s\n", t->err.text);
    remove_upload(t);
    t->files = fs_set_free(t->files);
    t->client = yarn_client_free(t->client);
    t->session = session_free(t->session);
    return r;
}

int main(int argc, char **argv)
{
    struct test t = { 0 };
    int i = 1, r;

    log_init("ydl-test-submit");
    for (; i < argc && str_starts(argv[i], "--"); i++) {
        if (str_eq(argv[i], "--no-wait"))
            t.no_wait = true;
        else if (str_eq(argv[i], "--keep"))
            t.keep = true;
        else if (str_eq(argv[i], "--as") && i + 1 < argc)
            t.as_user = argv[++i];
        else if (str_eq(argv[i], "--queue") && i + 1 < argc)
            t.queue = argv[++i];
    }
    if (argc - i != 2)
        return 2;
    t.program = argv[i];
    t.dir = argv[i + 1];
    if (loop_new(&t.loop, &t.err) < 0)
        return 2;
    r = loop_run(t.loop, run, &t, true);
    loop_free(t.loop);
    return r < 0;
}
