/* driver.c - a master that does as it is told, for tests of the agent.
 *
 *     agent_driver ADDRESS KEY WELCOME
 *
 * Listens on ADDRESS (a Unix socket's path, or a port of 127.0.0.1 for TLS) and greets every agent
 * with WELCOME (JSON). Lines of JSON on standard input go to the agents: {"agent": 0, "to": {…}},
 * the rest being a ToAgent; with "hang_up" instead the connection is closed. What agents say comes
 * out as lines {"agent": 0, "from": {…}}. Pings go out by themselves, unless WELCOME has a
 * heartbeat_ms of 0. With DRIVER_REFUSES in the environment every agent is refused in its words. */
#include "agent.pb-c.h"
#include "base/buf.h"
#include "base/str.h"
#include "driver_json.h"
#include "loop/fiber.h"
#include "loop/listener_testing.h"
#include "wire/channel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define AGENTS 64

struct driver {
    struct loop *loop;
    struct stream_key key;
    bool tls;
    json_t *welcome;
    int64_t heartbeat;
    uint64_t answered[AGENTS]; /* the newest Pong of each */
    struct channel *agents[AGENTS];
};

static void say(json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT);

    must(text);
    puts(text);
    fflush(stdout);
    free(text);
    json_decref(v);
}

static void say_error(const char *text)
{
    say(json_pack("{s:s}", "error", text));
}

static void tell(struct channel *c, const json_t *to)
{
    struct err err = ERR_INIT;
    ProtobufCMessage *m = NULL;

    if (driver_from_json(&agent__to_agent__descriptor, to, &m, &err) < 0 ||
        channel_send(c, m, &err) < 0)
        say_error(err.text);
    protobuf_c_message_free_unpacked(m, NULL);
}

/* ---- agents ---- */

static struct channel *open_channel(struct driver *d, struct sock *s)
{
    const struct channel_limits limits = { .frame_max = 64 * MIB, .queue_max = 64 * MIB };
    struct err err = ERR_INIT;
    struct stream *stream = NULL;
    struct channel *c = NULL;
    int r;

    if (d->tls)
        r = stream_tls_server(s, &d->key, loop_in(d->loop, 60000), &stream, &err);
    else
        r = stream_plain(s, &stream, &err);
    if (r == 0)
        r = channel_new(d->loop, stream, &limits, &c, &err);
    if (r < 0)
        say_error(err.text);
    return c;
}

static void greet(struct driver *d, struct channel *c)
{
    const char *refuse = getenv("DRIVER_REFUSES");
    json_t *to = refuse ? json_pack("{s:{s:s}}", "refused", "text", refuse)
                        : json_pack("{s:O}", "welcome", d->welcome);

    tell(c, to);
    json_decref(to);
}

static void on_agent(void *user, struct sock *s)
{
    struct driver *d = user;
    struct channel *c = open_channel(d, s);
    unsigned number = AGENTS;
    ProtobufCMessage *m = NULL;
    struct err err = ERR_INIT;

    while (c && channel_read(c, &agent__to_master__descriptor, LOOP_NEVER, &m, &err) == 1) {
        const Agent__ToMaster *from = (Agent__ToMaster *)m;

        if (from->body_case == AGENT__TO_MASTER__BODY_HELLO) {
            number = from->hello->agent % AGENTS;
            d->agents[number] = c;
            d->answered[number] = 0;
            greet(d, c);
        }
        if (from->body_case == AGENT__TO_MASTER__BODY_PONG && number < AGENTS)
            d->answered[number] = from->pong->seq;
        if (from->body_case != AGENT__TO_MASTER__BODY_PONG || getenv("DRIVER_PONGS"))
            say(json_pack("{s:i, s:o}", "agent", (int)number, "from", driver_to_json(m)));
        protobuf_c_message_free_unpacked(m, NULL);
    }
    if (number < AGENTS && d->agents[number] == c)
        d->agents[number] = NULL;
    say(json_pack("{s:i, s:s}", "agent", (int)number, "gone", err.text));
    channel_close(c);
}

static void run_pings(void *arg)
{
    struct driver *d = arg;
    uint64_t seq = 0;

    while (fiber_sleep(d->loop, d->heartbeat) == 0) {
        Agent__Ping ping = AGENT__PING__INIT;
        Agent__ToAgent m = AGENT__TO_AGENT__INIT;

        ping.seq = ++seq;
        m.ping = &ping;
        m.body_case = AGENT__TO_AGENT__BODY_PING;
        for (size_t i = 0; i < AGENTS; i++) {
            ping.answered = d->answered[i];
            if (d->agents[i])
                (void)channel_send(d->agents[i], &m.base, NULL);
        }
    }
}

/* ---- orders ---- */

static void obey(struct driver *d, const char *line, size_t n)
{
    struct err err = ERR_INIT;
    AUTO_JSON *v = NULL;
    struct channel *c;

    if (json_parse("an order", line, n, &v, &err) < 0) {
        say_error(err.text);
        return;
    }
    c = d->agents[json_integer_value(json_object_get(v, "agent")) % AGENTS];
    if (!c)
        say_error("no such agent");
    else if (json_object_get(v, "hang_up"))
        (void)shutdown(sock_fd(stream_sock(channel_stream(c))), SHUT_RDWR);
    else
        tell(c, json_object_get(v, "to"));
}

static int read_orders(void *arg)
{
    struct driver *d = arg;
    AUTO_BUF in = { .max = 64 * MIB };
    AUTO_SOCK *s = NULL;
    uint8_t *room;
    char *end;

    fcntl(0, F_SETFL, O_NONBLOCK);
    if (sock_from_fd(d->loop, 0, &s, NULL) < 0)
        return -1;
    for (;;) {
        ssize_t got;

        must(buf_room(&in, 64 * KIB, &room) == 0);
        got = sock_read(s, room, 64 * KIB, LOOP_NEVER);
        if (got <= 0) { /* the last order may have come with the end */
            for (size_t i = 0; i < AGENTS; i++)
                if (d->agents[i])
                    (void)channel_flush(d->agents[i], loop_in(d->loop, 60000), NULL);
            return 0;
        }
        in.len += (size_t)got;
        while (in.len && (end = memchr(in.data, '\n', in.len)) != NULL) {
            obey(d, (char *)in.data, (size_t)(end - (char *)in.data));
            buf_eat(&in, (size_t)(end - (char *)in.data) + 1);
        }
    }
}

static int start(struct driver *d, char **argv, struct listener **ret, struct err *err)
{
    const char *job = json_string_value(json_object_get(json_object_get(d->welcome, "job"), "job"));
    uint8_t *key = NULL;
    size_t n = 0;
    int fd = -1, port = 0, r;

    must(job && str_unbase64(argv[2], &key, &n) == 0 && n == STREAM_KEY);
    memcpy(d->key.key, key, n);
    free(key);
    snprintf(d->key.identity, sizeof(d->key.identity), "%s", job);
    d->tls = argv[1][0] != '/';
    d->heartbeat = json_integer_value(json_object_get(d->welcome, "heartbeat_ms"));
    r = d->tls ? listen_tcp("127.0.0.1", 0, 0, &fd, &port, err) : listen_unix(argv[1], &fd, err);
    if (r == 0)
        r = listener_start(d->loop, fd, on_agent, d, ret, err);
    if (r == 0)
        say(json_pack("{s:i}", "listening", port));
    if (r == 0 && d->heartbeat)
        r = fiber_start(d->loop, run_pings, d, NULL, err);
    return r;
}

int main(int argc, char **argv)
{
    struct driver d = { 0 };
    struct listener *listener = NULL;
    struct err err = ERR_INIT;
    int r;

    if (argc != 4)
        return 2;
    r = json_parse("the welcome", argv[3], strlen(argv[3]), &d.welcome, &err);
    if (r == 0)
        r = loop_new(&d.loop, &err);
    if (r == 0)
        r = start(&d, argv, &listener, &err);
    if (r < 0) {
        say_error(err.text);
        return 1;
    }
    r = loop_run(d.loop, read_orders, &d, false);
    _exit(r < 0); /* as abruptly as it gets: agents must cope */
}
