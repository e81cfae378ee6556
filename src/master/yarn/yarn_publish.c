/* yarn_publish.c - what a master in a container of YARN needs to publish a model: the job's results
 * are where the agents have put them in HDFS, and the master's own session reaches them. */
#include "master/yarn/yarn_publish.h"
#include "master/yarn/master_yarn_private.h"
#include "master/yarn/rival.h"

/* Agents write to the same places. */
int yarn_result_place(struct master *m, const struct spec_file *f, char **ret, struct err *err)
{
    const char *to = f ? f->to : m->facts.out_dir;
    AUTO_FREE char *path = NULL;
    struct fs *fs = NULL;
    int r = to ? fs_find(yarn_of(m)->container->set, to, FS_ON_CLUSTER, &fs, &path, err)
               : err_set(err, -ENOENT, "the job does not say where its results are");

    return r < 0 ? r : fs_uri(fs, path, ret, err);
}

int yarn_files_open(struct master *m, const char *uri, struct fs_set **ret, struct err *err)
{
    (void)uri;
    (void)err;
    *ret = yarn_of(m)->container->set; /* which takes newer tokens */
    return 0;
}

void yarn_files_close(struct master *m, struct fs_set *set)
{
    (void)m;
    (void)set;
}

int yarn_alone(struct master *m, struct err *err)
{
    int r = rival_wait(m);

    return r == 0 && m->over ? err_set(err, -ECANCELED, "another master has the job")
           : r < 0           ? err_set(err, r, "interrupted")
                             : 0;
}
