/* agent_message.c - what an agent says that has the job's key: it may be broken, and a task may
 * have taken the key from it. Whatever it says, the master answers, refuses it or goes on.
 *
 * The first byte chooses the job's policy. Then messages, each with its length before it, as two
 * bytes, most significant first; what lies between two of them is carried out as far as it is the
 * master's own business. */
#include "fuzz.h"
#include "master/local/master_local_private.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX 64
#define ACTIONS_MAX 1000
#define AGENT 1
#define WALL INT64_C(1763274830000)

struct bench {
    struct spec_role role;
    struct job_dir dir;
    struct master_options opt;
    struct platform platform;
    struct agent_conn agent, *agents[1];
    struct master m;
};

static const struct platform_ops no_platform = { .name = "none", .apart = true };

static int make_master(struct bench *b, uint8_t how, struct err *err)
{
    static const enum spec_policy policies[] = { SPEC_RESTART_NEVER, SPEC_RESTART_TASK,
                                                 SPEC_RESTART_GANG };
    struct engine_options opt = { 0 };
    struct kv_events kv = drive_kv_events;
    struct master *m = &b->m;
    int r;

    b->role = (struct spec_role){ .name = (char *)"worker",
                                  .count = 3,
                                  .procs = 1,
                                  .restart = { .max = -1 },
                                  .side = -1,
                                  .decides = -1,
                                  .ports = 1 };
    b->dir = (struct job_dir){ .id = (char *)"job", .path = (char *)"/nowhere", .lock = -1 };
    b->opt.dir = &b->dir;
    b->platform.ops = &no_platform;
    b->agent = (struct agent_conn){ .master = m, .number = AGENT, .node = "n", .host = "h" };
    b->agents[0] = &b->agent;
    m->opt = &b->opt;
    m->ops = &master_local_ops;
    m->platform = &b->platform;
    m->wall = WALL;
    m->spec = (struct spec){ .roles = &b->role,
                             .n_roles = 1,
                             .restart = { policies[how % 3], 3, 0 },
                             .gang_hold = 1000,
                             .gang_retry = 3,
                             .grace = 1000 };
    m->agents.v = b->agents;
    m->agents.n = m->agents.cap = 1;
    m->journal.fd = -1;
    kv.user = m;
    r = loop_new(&m->loop, err);
    if (r == 0)
        r = framework_find(how & 16 ? "pytorch" : "none", &m->framework, err);
    if (r == 0)
        r = kv_new(&kv, &m->kv, err);
    if (r == 0)
        r = hub_new(&m->hub, err);
    return r == 0 ? engine_new(&m->spec, &opt, &m->engine, err) : r;
}

/* What the master does by itself; what the agent is told, it answers as it likes. */
static void carry_out(struct master *m)
{
    AUTO_BUF events = { .max = 64 * MIB };
    struct action a;

    for (int i = 0; i < ACTIONS_MAX && engine_next_action(m->engine, &a); i++) {
        if (a.kind == ACTION_ASK) {
            (void)engine_on_granted(m->engine, a.id, AGENT, master_now(m), NULL);
            (void)engine_on_agent_up(m->engine, a.id, master_now(m), NULL);
        } else if (a.kind == ACTION_FORM) {
            (void)engine_on_formed(m->engine, master_now(m), NULL);
        }
    }
    (void)engine_events(m->engine, &events);
}

static void hear(struct bench *b, const uint8_t *p, size_t n)
{
    Agent__ToMaster *msg = agent__to_master__unpack(NULL, n, p);
    struct err err = ERR_INIT;

    if (!msg)
        return;
    if (msg->body_case == AGENT__TO_MASTER__BODY_HELLO)
        (void)inbox_held(&b->agent, msg->hello, &err);
    else
        (void)inbox_message(&b->agent, msg, &err);
    agent__to_master__free_unpacked(msg, NULL);
    carry_out(&b->m);
    b->m.wall += 1000; /* so that what waits for its time has it */
    (void)engine_on_time(b->m.engine, master_now(&b->m), NULL);
    kv_on_time(b->m.kv, master_now(&b->m));
    carry_out(&b->m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bench *b = size ? calloc(1, sizeof(*b)) : NULL;

    if (!b)
        return 0;
    if (make_master(b, data[0], NULL) < 0)
        abort(); /* nothing that was said can be the reason */
    (void)engine_start(b->m.engine, master_now(&b->m), NULL);
    carry_out(&b->m);
    data++;
    size--;
    for (int i = 0; i < MESSAGES_MAX && size >= 2; i++) {
        size_t n = (size_t)data[0] << 8 | data[1];

        n = n < size - 2 ? n : size - 2;
        hear(b, data + 2, n);
        data += 2 + n;
        size -= 2 + n;
    }
    b->m.hub = hub_free(b->m.hub);
    usage_done(&b->m);
    free(b->m.save.unsaved);
    b->m.engine = engine_free(b->m.engine);
    b->m.kv = kv_free(b->m.kv);
    b->m.loop = loop_free(b->m.loop);
    free(b);
    return 0;
}
