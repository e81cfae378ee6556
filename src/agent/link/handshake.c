/* handshake.c - dialling the master: Hello, and its Welcome.
 *
 *     Hello (what we have) ──►
 *                              ◄── Welcome (where things go, how long to wait for a lost master)
 *     what happened meanwhile ──►
 *
 * What happens between the two is held back: before the Welcome, the master knows none of our
 * tasks. */
#include "agent/link/handshake.h"
#include "agent/agent_private.h"
#include "agent/dirs.h"
#include "agent/link/agent_report.h"
#include "agent/link/fence.h"
#include "agent/link/kv_relay.h"
#include "agent/link/resync.h"
#include "agent/output/output_follow.h"
#include "agent/tasks/ports.h"
#include "base/log.h"
#include "job/protocol.h"
#include "loop/listen.h"
#include "loop/resolve.h"

#include <arpa/inet.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define RESOLVE_MS 5000
#define FRAME_MAX (64 * MIB)
#define QUEUE_MAX (64 * MIB)

/* Releases memory before and after: the code that led here and that of the handshake, both in
 * memory at the same time, would be an agent's peak. */
static int handshake_shake_hands(struct agent *a, struct sock *s, int64_t deadline,
                                 struct stream **ret, struct err *err)
{
    int r;

    handshake_forget_code();
    r = stream_tls_client(s, &a->link.join.key, deadline, ret, err);
    handshake_forget_code();
    return r;
}

static int handshake_dial(struct agent *a, int64_t deadline, struct err *err)
{
    const struct channel_limits limits = { .frame_max = FRAME_MAX, .queue_max = QUEUE_MAX };
    struct stream *stream = NULL;
    struct sock *s = NULL;
    int r;

    if (a->link.join.path)
        r = sock_connect_unix(a->loop, a->link.join.path, deadline, &s, err);
    else
        r = sock_connect(a->loop, a->link.join.host, a->link.join.port, deadline, &s, err);
    if (r < 0)
        return r;
    if (a->link.join.path)
        r = stream_plain(s, &stream, err);
    else
        r = handshake_shake_hands(a, s, deadline, &stream, err);
    if (r < 0)
        return r;
    return channel_new(a->loop, stream, &limits, &a->link.channel, err);
}

/* ---- what others reach our tasks by ---- */

static bool is_loopback(const char *ip)
{
    return str_starts(ip, "127.") || str_eq(ip, "::1");
}

/* The address of the name that the cluster has for this machine. Some machines resolve their own
 * name to an address that no other machine can reach. */
static bool handshake_by_name(struct agent *a, const char *local, char out[INET6_ADDRSTRLEN])
{
    struct resolve_addrs found;
    struct err err = ERR_INIT;

    if (resolve_host(a->loop, a->home.node, 0, loop_in(a->loop, RESOLVE_MS), &found, &err) < 0) {
        log_warn(LOG_AGENT, "%s, ignoring", err.text);
        return false;
    }
    for (int i = 0; i < found.n; i++) {
        resolve_text(&found.v[i], out);
        if (!is_loopback(out) || is_loopback(local))
            return true;
    }
    return false;
}

static void find_own_address(struct agent *a)
{
    char name[INET6_ADDRSTRLEN];
    const char *ip = a->opt->host;

    if (*a->link.host)
        return;
    if (!ip)
        ip = a->link.join.path ? "127.0.0.1"
                               : sock_local_ip(stream_sock(channel_stream(a->link.channel)));
    if (!a->opt->host && a->platform->cluster_name && handshake_by_name(a, ip, name))
        ip = name;
    snprintf(a->link.host, sizeof(a->link.host), "%s", ip);
}

/* ---- hello ---- */

/* `again` is whether a master has welcomed us before; it makes the difference between an agent that
 * lost its connection and one that was started anew in the same container. */
static int say_hello(struct agent *a, struct err *err)
{
    Agent__Hello hello = AGENT__HELLO__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;
    char name[256] = "localhost";
    int r;

    (void)gethostname(name, sizeof(name) - 1);
    hello.version = (uint32_t)protocol_number(PROTOCOL_AGENT);
    hello.build = (char *)YDL_VERSION;
    hello.job = a->link.join.key.identity;
    if (a->link.join.path) /* with TLS the key has been checked already */
        hello.key = (ProtobufCBinaryData){ .data = a->link.join.key.key, .len = STREAM_KEY };
    hello.agent = a->opt->number;
    hello.host = a->link.host;
    hello.node = a->home.node ? (char *)a->home.node : name;
    if (a->opt->node)
        hello.node = (char *)a->opt->node;
    hello.pid = (uint32_t)getpid();
    if (a->home.id)
        hello.container = (char *)a->home.id;
    hello.again = a->link.welcome != NULL;
    hello.knows_owners = true;
    if (resync_hello(a, &hello) < 0)
        return err_oom(err);
    m.hello = &hello;
    m.body_case = AGENT__TO_MASTER__BODY_HELLO;
    a->link.said_hello = loop_now(a->loop);
    r = channel_send(a->link.channel, &m.base, err);
    resync_hello_done(&hello);
    return r;
}

/* ---- welcome ---- */

int handshake_next(struct agent *a, int64_t deadline, Agent__ToAgent **ret, struct err *err)
{
    ProtobufCMessage *m = NULL;
    int r = channel_read(a->link.channel, &agent__to_agent__descriptor, deadline, &m, err);

    *ret = (Agent__ToAgent *)m;
    return r;
}

/* A handshake, or a look into HDFS, runs megabytes of code that are not needed again. These pages
 * are unchanged pages of the program file: the kernel can drop them and reloads what runs again. */
static int forget_segment(struct dl_phdr_info *program, size_t size, void *arg)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;

    (void)size;
    (void)arg;
    for (unsigned i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &program->dlpi_phdr[i];
        uintptr_t at = (uintptr_t)(program->dlpi_addr + h->p_vaddr);
        uintptr_t from = (at + page) & ~page, to = (at + h->p_memsz) & ~page;

        if (h->p_type == PT_LOAD && !(h->p_flags & PF_W) && to > from)
            (void)madvise((void *)from, to - from, MADV_DONTNEED);
    }
    return 0;
}

void handshake_forget_code(void)
{
    (void)dl_iterate_phdr(forget_segment, NULL);
    (void)malloc_trim(0);
}

/* Takes `m` over: it is kept for its facts and replaces an earlier one.
 * `hopeless` ends all tries: a refusal, another version or directories that cannot be made are the
 * same at the next one. Facts of a later Welcome replace those of the first, but ports and
 * directories are set up once. */
static int take_welcome(struct agent *a, Agent__ToAgent *m, struct err *err)
{
    bool first = !a->link.welcome;
    int r = 0;

    if (m->body_case != AGENT__TO_AGENT__BODY_WELCOME || !m->welcome->job) {
        if (m->body_case == AGENT__TO_AGENT__BODY_REFUSED) {
            a->link.hopeless = a->link.refused = true;
            r = err_set(err, -EACCES, "the master refuses us: %.200s", m->refused->text);
        } else {
            r = err_set(err, -EPROTO, "the master's first message is not a Welcome");
        }
        agent__to_agent__free_unpacked(m, NULL);
        return r;
    }
    r = protocol_check(PROTOCOL_AGENT, m->welcome->version ? m->welcome->version : 1, err);
    if (r < 0) {
        a->link.hopeless = true;
        agent__to_agent__free_unpacked(m, NULL);
        return r;
    }
    if (a->link.welcome)
        agent__to_agent__free_unpacked(a->link.welcome, NULL);
    a->link.welcome = m;
    a->facts = m->welcome->job;
    a->link.lease = m->welcome->lease_ms;
    a->link.heartbeat = m->welcome->heartbeat_ms;
    /* YARN does not know an agent beside the client. */
    a->lookup.cut_ms = a->platform->cut_off ? m->welcome->cut_ms : 0;
    a->link.last_ping = loop_now(a->loop);
    a->lookup.superseded = false;
    if (first)
        a->lookup.known =
            a->link.last_ping; /* later ones may come from a master that is cut off too */
    if (first)
        r = ports_init(&a->ports, a->facts->port_low, a->facts->port_high, err);
    if (r == 0)
        r = dirs_set_up(a, err);
    if (r == 0)
        r = fence_on_welcome(a, m->welcome, err);
    a->link.hopeless = r < 0; /* another try would fail in the same way */
    return r;
}

static int be_welcomed(struct agent *a, int64_t deadline, struct err *err)
{
    Agent__ToAgent *m = NULL;
    int r = handshake_next(a, deadline, &m, err);

    if (r == 0)
        return err_set(err, -ECONNRESET, "the master closed the connection at once");
    if (r < 0)
        return err_wrap(err, r, "wait for the master's welcome");
    return take_welcome(a, m, err);
}

/* Ends of tasks and requests to the store are gathered again between Hello and Welcome, while the
 * report is on hold, and go out right behind the Welcome. A failed try leaves no channel and an
 * open report, as it was before. */
int handshake_master(struct agent *a, int64_t deadline, struct err *err)
{
    int r = handshake_dial(a, deadline, err);

    if (r == 0)
        find_own_address(a);
    if (r == 0) {
        report_hold(a);
        r = say_hello(a, err);
    }
    if (r == 0) {
        resync_tell(a);
        relay_again(a);
        r = be_welcomed(a, deadline, err);
    }
    if (r < 0)
        a->link.channel = channel_close(a->link.channel);
    report_go_on(a);
    if (r == 0 && !a->link.join.path)
        handshake_forget_code();
    return r;
}

void handshake_part(struct agent *a)
{
    a->link.channel = channel_close(a->link.channel);
    follow_forget(a);
}
