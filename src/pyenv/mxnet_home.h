/* mxnet_home.h - whether the MXNet that tasks would use was built for distributed training.
 *
 * One that was built without its distributed store (USE_DIST_KVSTORE) imports as well as any other
 * and fails when the training begins, on all machines at once. Its library has the sentence that
 * it would say then, which the others have not; so it can be told without running it. Blocks on the
 * local disk; any thread. */
#pragma once
#include <stdbool.h>

/* The library in the Python whose bin directory is `bin`; *ret is the caller's, and NULL when there
 * is none. 0 or -ENOMEM. */
int mxnet_find(const char *bin, char **ret);

/* Whether it says that it cannot. A file that makes no sense does not. */
bool mxnet_lacks_dist(const char *library);

/* What a user is told about it. */
#define MXNET_NO_DIST "it was built without USE_DIST_KVSTORE=1 and cannot train on several machines"
