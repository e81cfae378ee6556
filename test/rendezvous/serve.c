/* serve.c - one rendezvous server for tests and by hand: ydl-test-rendezvous NAME WORLD [HOST]
 *
 * Prints "port N", then a line "note TEXT" for each note, and ends when its standard input does. */
#include "base/log.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "loop/sock.h"
#include "rendezvous/rendezvous.h"

#include <fcntl.h>
#include <stdio.h>

static const struct {
    const char *name;
    unsigned bit;
} servers[] = { { "rabit", 1 }, { "xgboost", 2 }, { "horovod", 4 } };

struct serve {
    struct loop *loop;
    struct rendezvous_options opt;
    unsigned bit;
};

static void on_note(void *user, const char *text)
{
    (void)user;
    printf("note %s\n", text);
    fflush(stdout);
}

static int wait_for_end(struct loop *l, struct err *err)
{
    AUTO_SOCK *in = NULL;
    char c[64];
    int fd = fcntl(0, F_DUPFD_CLOEXEC, 3), r;
    ssize_t n;

    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return err_sys(err, "standard input");
    r = sock_from_fd(l, fd, &in, err);
    if (r < 0)
        return r;
    do
        n = sock_read(in, c, sizeof(c), LOOP_NEVER);
    while (n > 0);
    return 0;
}

static int run(void *arg)
{
    struct serve *s = arg;
    struct rendezvous *r = NULL;
    struct err err = ERR_INIT;
    int code = rendezvous_start(s->bit, &s->opt, &r, &err);

    if (code == 0) {
        printf("port %d\n", rendezvous_port(r));
        fflush(stdout);
        code = wait_for_end(s->loop, &err);
    }
    if (code < 0)
        fprintf(stderr, "%s\n", err.text);
    r = rendezvous_free(r);
    return code;
}

int main(int argc, char **argv)
{
    struct serve s = { .opt = { .host = argc > 3 ? argv[3] : "127.0.0.1", .on_note = on_note } };
    int64_t world = 0;
    int code;

    log_init("ydl-test-rendezvous");
    for (size_t i = 0; argc > 2 && i < COUNT_OF(servers); i++) {
        if (str_eq(argv[1], servers[i].name))
            s.bit = servers[i].bit;
    }
    if (!s.bit || str_to_i64(argv[2], 1, 1000000, &world) < 0 || loop_new(&s.loop, NULL) < 0) {
        fprintf(stderr, "usage: %s rabit|xgboost|horovod WORLD [HOST]\n", argv[0]);
        return 2;
    }
    s.opt.loop = s.loop;
    s.opt.world = (unsigned)world;
    code = loop_run(s.loop, run, &s, true);
    s.loop = loop_free(s.loop);
    return code < 0;
}
