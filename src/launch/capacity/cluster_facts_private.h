/* cluster_facts_private.h - shared by cluster_facts.c and cluster_facts_queue.c only. */
#pragma once
#include "hadoop/yarn/records.h"
#include "hadoop/yarn/rm_client.h"
#include "launch/capacity/cluster_facts.h"

/* A resource of the RM's as a vector; what is negative or beyond all measure is cut. */
struct deploy_size facts_size(const struct deploy_facts *f, const Yarn__Resource *r);
/* What the RM says of a queue; zero is fine. */
struct facts_queue_answers {
    struct yarn_queue *queue; /* NULL: there is none of that name */
    Yarn__GetQueueUserAclsInfoResponse *acls;
};

int facts_queue_ask(struct yarn_client *c, const char *name, struct facts_queue_answers *a,
                    struct err *err);
void facts_queue_answers_done(struct facts_queue_answers *a);
/* Fills f->queue; types, nodes and labels are there. `name` as the user wrote it. Asks once more
 * when the queue cannot be used, for the hint. */
int facts_queue(struct yarn_client *c, const char *name, const struct facts_queue_answers *a,
                struct deploy_facts *f, struct err *err);
void facts_queue_done(struct deploy_queue *q);
/* What an answer says of the queue; pure. */
int facts_queue_read(const struct yarn_queue *q, struct deploy_facts *f, struct err *err);
/* Whether the user may submit there, of all rights that the RM tells; -1: it does not say. Pure. */
int facts_may_submit(const Yarn__GetQueueUserAclsInfoResponse *acls, const char *name);
