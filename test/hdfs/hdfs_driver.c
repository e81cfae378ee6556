/* hdfs_driver.c - files through fs.h from the command line, for the tests of this directory.
 *
 *     hdfs_driver [--option value]… VERB ARG…
 *
 * Prints facts one per line; an error goes to standard error and gives exit code 1. */
#include "hdfs_driver.h"
#include "base/log.h"
#include "base/str.h"
#include "hadoop/session/kerberos.h"

#include <stdio.h>
#include <string.h>

static int set_number(struct driver *d, const char *name, int64_t v)
{
    struct options *o = &d->o;

    if (str_eq(name, "--block"))
        o->create.block_size = (uint64_t)v;
    else if (str_eq(name, "--rep"))
        o->create.replication = (uint32_t)v;
    else if (str_eq(name, "--mode"))
        o->create.mode = (uint32_t)v;
    else if (str_eq(name, "--hflush"))
        o->hflush = v;
    else if (str_eq(name, "--delay"))
        o->delay = v;
    else if (str_eq(name, "--offset"))
        o->offset = v;
    else if (str_eq(name, "--length"))
        o->length = v;
    else if (str_eq(name, "--jobs"))
        o->jobs = v;
    else if (str_eq(name, "--abort-at"))
        o->abort_at = v;
    else
        return -EINVAL;
    return 0;
}

static int set_flag(struct driver *d, const char *name)
{
    if (str_eq(name, "--overwrite"))
        d->o.create.overwrite = true;
    else if (str_eq(name, "--keep"))
        d->o.create.keep = true;
    else if (str_eq(name, "-r"))
        d->o.recursive = true;
    else if (str_eq(name, "-p"))
        d->o.parents = d->o.create.parents = true;
    else
        return -EINVAL;
    return 0;
}

/* Returns the index of the verb, or a negative number. */
static int parse(struct driver *d, int argc, char **argv)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        int64_t v;

        if (set_flag(d, argv[i]) == 0)
            continue;
        if (i + 1 == argc || str_to_i64(argv[i + 1], 0, INT64_MAX, &v) < 0 ||
            set_number(d, argv[i], v) < 0)
            return -1;
        i++;
    }
    return i < argc ? i : -1;
}

static int run(void *arg)
{
    struct driver *d = arg;
    const struct session_options options = { .caller = "hdfs_driver",
                                             .kerberos = &kerberos_by_gss };
    const char *dir = getenv("HADOOP_CONF_DIR");
    const struct verb *verb;
    int r = dir && *dir ? session_new(d->loop, &options, &d->session, &d->err) : 0;

    if (r == 0)
        r = fs_set_new(d->loop, d->session, &d->set, &d->err);
    verb = verb_find(d->args[0]);
    if (r == 0 && (!verb || d->count != verb->args + 1))
        r = err_set(&d->err, -EINVAL, "no such verb: %s", d->args[0]);
    if (r == 0) {
        d->args++;
        r = verb->run(d);
    }
    d->set = fs_set_free(d->set);
    d->session = session_free(d->session);
    return r;
}

int main(int argc, char **argv)
{
    struct driver d = { .o = { .create.mode = FS_MODE_DEFAULT, .jobs = 16 } };
    int first = parse(&d, argc, argv), r;

    log_init("hdfs_driver");
    if (first < 0) {
        fprintf(stderr, "hdfs_driver: bad arguments\n");
        return 2;
    }
    d.args = argv + first;
    d.count = argc - first;
    if (loop_new(&d.loop, &d.err) < 0)
        return 70;
    r = loop_run(d.loop, run, &d, true);
    loop_free(d.loop);
    if (r < 0)
        fprintf(stderr, "hdfs_driver: %s (%d)%s%s\n", d.err.text, r, d.err.hint[0] ? "; " : "",
                d.err.hint);
    return r < 0;
}
