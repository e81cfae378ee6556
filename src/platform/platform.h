/* platform.h - where a job's containers come from.
 *
 * A platform gets containers (slots) for the master, starts an agent in each, gives them back and
 * tells of losses. The local one starts agents as child processes, the YARN one speaks to the
 * ResourceManager and the NodeManagers; nothing else knows the difference. Loop thread only; no
 * call waits, and no upcall happens inside a call. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "job/event.h"
#include "job/spec/spec.h"
#include "loop/loop.h"
#include <stdint.h>

struct platform;

#define PLATFORM_GPUS_MAX 64

/* How an agent ends that was told to leave. */
enum platform_left {
    PLATFORM_LEFT_SAVED,   /* all is saved that its tasks left */
    PLATFORM_LEFT_UNSAVED, /* not all, and it could not say so to a master */
    PLATFORM_LEFT_LOST,    /* it did not get that far */
};

/* Callbacks to the master. */
struct platform_events {
    void *user;
    /* `slot` has a container; agent number `agent` will dial in from it (several slots may share
     * an agent). `gpus`: device numbers that are the slot's. */
    void (*on_granted)(void *user, uint32_t slot, uint32_t agent, const uint32_t *gpus, size_t n);
    /* The ask was refused: it has to be repeated later. `here`: because of this
     * machine. */
    void (*on_refused)(void *user, uint32_t slot, bool here, const char *text);
    /* The agent has left its container as it was told to; on_lost follows. */
    void (*on_left)(void *user, uint32_t slot);
    /* The container, or the agent in it, is gone. */
    void (*on_lost)(void *user, uint32_t slot, enum fail_class cls, const char *text);
    /* The container of an agent that a master before this one had told to leave has ended. */
    void (*on_leaver)(void *user, uint32_t agent, enum platform_left how, const char *text);
    /* The container will be taken away in about so many ms (-1: not known): its tasks are to end,
     * then it is to be released. It may be said again. */
    void (*on_leaving)(void *user, uint32_t slot, int64_t ms, const char *text);
    /* The node is being taken out of service: it gets no more containers, and those it has are
     * taken away after so many ms at the latest (-1: not known). Or, without `leaves`, it is in
     * service: said of any node, at any time. */
    void (*on_node)(void *user, const char *node, bool leaves, int64_t ms);
    /* A sentence for the events log: why asks are not served. */
    void (*on_note)(void *user, const char *text);
    /* Phases of the start, for the timeline: "registered", "granted" … */
    void (*on_phase)(void *user, const char *name, const char *who);
    /* Somebody has ended the job through the platform: no container is left for long. */
    void (*on_over)(void *user, const char *text);
};

struct platform_ops {
    const char *name; /* "local", "yarn" */
    bool apart;       /* each slot has an agent of its own, on a machine that is not the master's */
    int (*ask)(struct platform *p, uint32_t slot, const struct spec_role *role, struct err *err);
    /* Gives the slot back; its agent, when no slot is left for it, has been told to leave and gets
     * a few seconds before it is killed. */
    void (*release)(struct platform *p, uint32_t slot);
    /* The same where no agent has ever spoken (files are still being fetched and unpacked): nobody
     * is there who could leave, so the container is ended at once. NULL: release() does that. */
    void (*take_back)(struct platform *p, uint32_t slot);
    /* The agent does not answer any more: kill it and everything under it, then on_lost for its
     * slots. */
    void (*agent_gone)(struct platform *p, uint32_t agent, const char *why);
    /* The agent has been silent for too long, and may live where it cannot be heard: on_lost for
     * its slots comes when nothing of it can run any more. NULL: agent_gone() does that. */
    void (*agent_silent)(struct platform *p, uint32_t agent, const char *why);
    /* The agent of a container that the platform named, 0 when there is none. NULL where agents
     * know their numbers. */
    uint32_t (*find_agent)(struct platform *p, const char *container);
    /* The container that an agent is in, for the events log; "" where there are none. */
    const char *(*container)(struct platform *p, uint32_t agent);
    /* The node that a slot's container is or last was on, "" when it had none; NULL where all are
     * on this machine. */
    const char *(*node)(struct platform *p, uint32_t slot);
    /* Containers on this node are (not) wanted; and how many nodes there are. NULL where there is
     * no choice. */
    void (*avoid)(struct platform *p, const char *node, bool on);
    unsigned (*nodes)(struct platform *p);
    /* Why asks are not heard at present, a sentence; "": they are. NULL where they always are. */
    const char *(*trouble)(struct platform *p);
    /* Is it the agent beside the client? It serves all slots there, and is there as long as the
     * client is; it may come before a slot of its is granted. NULL where there is none. */
    bool (*at_client)(struct platform *p, uint32_t agent);
    /* For how many ms the cluster manager has not answered. NULL: that is us. */
    int64_t (*silence)(struct platform *p);
    /* Has somebody killed the job where containers come from? Asks there, and waits a moment for
     * the answer. Fibers only. NULL: that is not possible. */
    bool (*is_killed)(struct platform *p);
    /* Does it belong to an earlier master, and has the cluster not named its container since this
     * master started? NULL: that cannot be. */
    bool (*forgotten)(struct platform *p, uint32_t agent);
    /* Waits until every agent has left, killing what does not by `deadline`. Fibers only. */
    int (*close)(struct platform *p, int64_t deadline, struct err *err);
    struct platform *(*free)(struct platform *p);
};

/* First member of every platform's struct. */
struct platform {
    const struct platform_ops *ops;
    struct platform_events on;
};

/* ---- what not every platform has; `p` may be NULL, while there is none ---- */

/* Do its containers have names? */
static inline bool platform_has_containers(const struct platform *p)
{
    return p && p->ops->container;
}

static inline const char *platform_container(struct platform *p, uint32_t agent)
{
    return platform_has_containers(p) ? p->ops->container(p, agent) : "";
}

/* `said`: who the agent says that it is. */
static inline uint32_t platform_find_agent(struct platform *p, const char *container, uint32_t said)
{
    return p && p->ops->find_agent ? p->ops->find_agent(p, container) : said;
}

/* `said`: where its agent says that it is. */
static inline const char *platform_node(struct platform *p, uint32_t slot, const char *said)
{
    return p && p->ops->node ? p->ops->node(p, slot) : said;
}

static inline void platform_take_back(struct platform *p, uint32_t slot)
{
    (p->ops->take_back ? p->ops->take_back : p->ops->release)(p, slot);
}

static inline void platform_agent_silent(struct platform *p, uint32_t agent, const char *why)
{
    (p->ops->agent_silent ? p->ops->agent_silent : p->ops->agent_gone)(p, agent, why);
}

/* Is there a choice of nodes, so that some can be avoided? */
static inline bool platform_can_avoid(const struct platform *p)
{
    return p && p->ops->avoid;
}

static inline const char *platform_trouble(struct platform *p)
{
    return p && p->ops->trouble ? p->ops->trouble(p) : "";
}

static inline bool platform_at_client(struct platform *p, uint32_t agent)
{
    return p && p->ops->at_client && p->ops->at_client(p, agent);
}

static inline int64_t platform_silence(struct platform *p)
{
    return p && p->ops->silence ? p->ops->silence(p) : 0;
}

static inline bool platform_is_killed(struct platform *p)
{
    return p && p->ops->is_killed && p->ops->is_killed(p);
}

static inline bool platform_forgotten(struct platform *p, uint32_t agent)
{
    return p && p->ops->forgotten && p->ops->forgotten(p, agent);
}
