/* yarn_output.c - see yarn_output.h */
#include "cmd/job/yarn_output.h"
#include "hadoop/logs/logs.h"
#include "hadoop/session/session.h"

#define READ_BYTES (64 * KIB)
#define BROKEN_MAX 1000 /* files of nodes that cannot be read */

/* Where the next bytes of a stream go: behind what earlier containers of the task wrote. */
static uint64_t end_of(const struct spool *s, const struct logfile *f)
{
    enum piece_stream stream;
    const char *task;

    for (size_t i = 0; spool_stream(s, i, &task, &stream); i++)
        if (stream == f->stream && str_eq(task, f->task))
            return spool_size(s, i);
    return 0;
}

static int keep(struct logs *l, const struct logfile *f, struct spool *s, char *bytes)
{
    struct piece p = { .kind = PIECE_OUTPUT, .task = f->task, .stream = f->stream, .data = bytes };
    ssize_t n;
    int r = 0;

    p.offset = end_of(s, f);
    while (r == 0 && (n = logs_read(l, bytes, READ_BYTES, NULL)) != 0) {
        if (n < 0)
            return (int)n;
        p.n = (size_t)n;
        r = spool_add(s, &p, NULL);
        p.offset += (uint64_t)n;
    }
    return r;
}

static int keep_all(struct logs *l, const struct strs *wanted, const struct logfiles *files,
                    struct spool *s)
{
    AUTO_FREE char *bytes = malloc(READ_BYTES);
    const struct logs_file *log = NULL;
    unsigned broken = 0;
    int r = bytes ? 1 : -ENOMEM;

    while (r != 0 && r != -ENOMEM && r != -ECANCELED && broken < BROKEN_MAX) {
        struct logfile f = { 0 };

        r = logs_next(l, &log, NULL);
        broken += r < 0;
        if (r == 1 && logfiles_parse(log->name, &f) && logfiles_wanted(wanted, f.task) &&
            !logfiles_has(files, &f))
            r = keep(l, &f, s, bytes) == -ENOMEM ? -ENOMEM : 1;
    }
    return r == -ENOMEM || r == -ECANCELED ? r : 0;
}

int yarn_output(struct yarn_jobs *y, const char *app, const char *owner, const struct strs *wanted,
                struct logfiles *files, struct spool **ret_spool)
{
    AUTO(spool) struct spool *s = NULL;
    AUTO_LOGS *l = NULL;
    int r = logs_open(yarn_jobs_files(y), session_conf(yarn_jobs_session(y)), owner, app, &l, NULL);

    *ret_spool = NULL;
    if (r < 0)
        return r == -ENOMEM || r == -ECANCELED ? r : 0;
    r = spool_new(&s, NULL);
    if (r == 0)
        r = keep_all(l, wanted, files, s);
    if (r == 0)
        r = logfiles_add(s, wanted, files, NULL);
    if (r == 0)
        *ret_spool = take(s);
    return r;
}
