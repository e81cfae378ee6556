/* yarn_logs.c - reads container logs in order of time and appends each to its task's stream in a
 * spool. A long log is in pieces, which YARN lists in any order: they are noted first and then
 * copied by number. See yarn_logs.h. */
#include "client/yarn_logs.h"
#include "base/json.h"
#include "hadoop/logs/app_logs.h"
#include "hadoop/session/session.h"

#include <string.h>

#define READ_BYTES (64 * KIB)
#define BROKEN_MAX 1000 /* files of nodes that cannot be read */

/* Where the next bytes of a stream go: behind what earlier containers of the task wrote. */
static uint64_t yarn_logs_end_of(const struct spool *s, const struct logfile *f)
{
    enum piece_stream stream;
    const char *task;

    for (size_t i = 0; spool_stream(s, i, &task, &stream); i++)
        if (stream == f->stream && str_eq(task, f->task))
            return spool_size(s, i);
    return 0;
}

static int yarn_logs_keep(struct logs *l, const struct logfile *f, struct spool *s, char *bytes)
{
    struct piece p = { .kind = PIECE_OUTPUT, .task = f->task, .stream = f->stream, .data = bytes };
    ssize_t n;
    int r = 0;

    p.offset = yarn_logs_end_of(s, f);
    while (r == 0 && (n = logs_read(l, bytes, READ_BYTES, NULL)) != 0) {
        if (n < 0)
            return (int)n;
        p.n = (size_t)n;
        r = spool_add(s, &p, NULL);
        p.offset += (uint64_t)n;
    }
    return r;
}

/* Long output is in pieces (base/rotate.h): NAME.1, NAME.2 … and NAME itself, which comes last. */
struct pieces_of {
    struct logs *l;  /* to find them with */
    json_t *numbers; /* "CONTAINER/NAME": the first and the last */
};

static char *piece_key(const struct logs_file *log, size_t name)
{
    return str_printf("%s/%.*s", log->container, (int)name, log->name);
}

/* Whether a log is a piece; if so, its number and the length of the name before it. */
static bool is_piece(const char *name, size_t *ret_name, int64_t *ret_number)
{
    const char *dot = strrchr(name, '.');

    if (!dot || dot[1] == '0' || str_to_i64(dot + 1, 1, UINT32_MAX - 1, ret_number) < 0)
        return false;
    *ret_name = (size_t)(dot - name);
    return true;
}

static int yarn_logs_note_piece(struct pieces_of *p, const struct logs_file *log)
{
    AUTO_FREE char *key = NULL;
    int64_t number = 0, first, last;
    size_t name = 0;
    const json_t *old;

    if (!is_piece(log->name, &name, &number))
        return 0;
    key = piece_key(log, name);
    old = key ? json_object_get(p->numbers, key) : NULL;
    first = old ? json_integer_value(json_array_get(old, 0)) : number;
    last = old ? json_integer_value(json_array_get(old, 1)) : number;
    first = number < first ? number : first;
    last = number > last ? number : last;
    return key && json_object_set_new(p->numbers, key,
                                      json_pack("[I, I]", (json_int_t)first, (json_int_t)last)) == 0
               ? 0
               : -ENOMEM;
}

static int note_pieces(struct pieces_of *p)
{
    const struct logs_file *log = NULL;
    unsigned broken = 0;
    int r = 1;

    while (r != 0 && broken < BROKEN_MAX) {
        r = logs_next(p->l, &log, NULL);
        if (r == -ENOMEM || r == -ECANCELED)
            return r;
        broken += r < 0;
        if (r == 1 && yarn_logs_note_piece(p, log) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Those that come before `log`. */
static int keep_pieces(struct pieces_of *p, const struct logs_file *log, const struct logfile *f,
                       struct spool *s, char *bytes)
{
    AUTO_FREE char *key = piece_key(log, strlen(log->name));
    const json_t *range = key ? json_object_get(p->numbers, key) : NULL;
    json_int_t first = range ? json_integer_value(json_array_get(range, 0)) : 1;
    json_int_t last = range ? json_integer_value(json_array_get(range, 1)) : 0;
    int r = key ? 0 : -ENOMEM;

    for (json_int_t i = first; r == 0 && i <= last; i++) {
        AUTO_FREE char *name = str_printf("%s.%lld", log->name, (long long)i);
        const struct logs_file *piece = NULL;

        if (!name)
            return -ENOMEM;
        logs_rewind(p->l);
        if (logs_find(p->l, log->container, name, &piece, NULL) == 1)
            r = yarn_logs_keep(p->l, f, s, bytes) == -ENOMEM ? -ENOMEM : 0;
    }
    return r;
}

static int keep_all(struct logs *l, struct pieces_of *pieces, const struct strs *wanted,
                    const struct logfiles *files, struct spool *s)
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
            !logfiles_has(files, &f)) {
            r = keep_pieces(pieces, log, &f, s, bytes);
            if (r == 0)
                r = yarn_logs_keep(l, &f, s, bytes) == -ENOMEM ? -ENOMEM : 1;
        }
    }
    return r == -ENOMEM || r == -ECANCELED ? r : 0;
}

/* Two readers of the same logs: one goes through them in order, the other looks up pieces, which
 * may be anywhere. Logs that cannot be read are no failure, as all this is what is left when
 * nothing else is. */
int yarn_output(struct yarn_jobs *y, const char *app, const char *owner, const struct strs *wanted,
                struct logfiles *files, struct spool **ret_spool)
{
    const struct conf *conf = session_conf(yarn_jobs_session(y));
    AUTO(spool) struct spool *s = NULL;
    AUTO_LOGS *l = NULL;
    AUTO_LOGS *again = NULL;
    AUTO_JSON *numbers = json_object();
    struct pieces_of pieces = { .numbers = numbers };
    int r = numbers ? logs_open(yarn_jobs_files(y), conf, owner, app, &l, NULL) : -ENOMEM;

    *ret_spool = NULL;
    if (r == 0)
        r = logs_open(yarn_jobs_files(y), conf, owner, app, &again, NULL);
    if (r < 0)
        return r == -ENOMEM || r == -ECANCELED ? r : 0;
    pieces.l = again;
    r = note_pieces(&pieces);
    if (r == 0)
        r = spool_new(&s, NULL);
    if (r == 0)
        r = keep_all(l, &pieces, wanted, files, s);
    if (r == 0)
        r = logfiles_add(s, wanted, files, NULL);
    if (r == 0)
        *ret_spool = take(s);
    return r;
}
