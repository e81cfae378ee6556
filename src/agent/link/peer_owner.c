/* peer_owner.c - whose process of this machine has connected to one of the master's trackers.
 *
 * The trackers' protocols have no authentication, and the master sees only an address, which all
 * users of a machine share. The kernel of this machine knows whose socket it is. */
#include "agent/link/peer_owner.h"
#include "agent/link/agent_report.h"
#include "base/log.h"
#include "loop/peer.h"

/* Returns 1 or 0, or a negative errno when it cannot be looked up now. Tasks run as our own user,
 * also those in images. Where the kernel does not list its sockets, the address alone must suffice.
 */
static int peer_owner_is_ours(const Agent__Whose *m)
{
    struct peer_ends e = { 0 };
    uid_t uid = 0;
    int r;

    if (m->from_port > UINT16_MAX || m->to_port > UINT16_MAX ||
        !resolve_number(m->from, (int)m->from_port, &e.peer) ||
        !resolve_number(m->to, (int)m->to_port, &e.local))
        return 0;
    r = peer_uid_of(&e, &uid);
    trace(LOG_AGENT, "a tracker asks whose %s port %u is: %d, user %u", m->from, m->from_port, r,
          (unsigned)uid);
    if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
        return r;
    if (r == -ENOSYS)
        return 1;
    return r == 0 && (uid == geteuid() || uid == 0);
}

void peer_owner_answer(struct agent *a, const Agent__Whose *m)
{
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;
    Agent__Owner owner = AGENT__OWNER__INIT;
    int r = peer_owner_is_ours(m);

    if (r < 0)
        return; /* the master asks again */
    owner.id = m->id;
    owner.ours = r;
    msg.body_case = AGENT__TO_MASTER__BODY_OWNER;
    msg.owner = &owner;
    (void)report_send(a, &msg);
}
