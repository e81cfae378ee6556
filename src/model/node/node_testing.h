/* node_testing.h - a node's cache for tests, with a registry on this machine in the place of HDFS:
 * it is read by the same calls. */
#pragma once
#include "loop/loop.h"
#include "model/manifest.h"
#include "model/node/node_cache.h"
#include "test.h"

#define BYTES 300000 /* of model/a.bin */

struct world {
    struct loop *loop;
    char top[TEST_PATH];
    char *registry;
    struct strs dirs;          /* two */
    char hash[3][SHA256_TEXT]; /* of versions 1 and 2 */
    /* of one call */
    struct node_cache_want want;
    struct node_cache_got got, got2;
    struct err err;
    uint64_t seen;
    bool die; /* when the first bytes have come */
};

/* Of each test. */
int world_set_up(void **state);
int world_tear_down(void **state);
#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

char *world_path(const struct world *w, const char *below); /* the caller's */
void world_drop(struct node_cache_got *got);
/* Another call of node_cache_get(), which gives back what the last one got. */
int world_get(struct world *w);
/* Of the file whose bytes are all 'a' + VERSION. */
char world_first_byte(const struct world *w);
/* What is in DIR/models, without locks. */
size_t world_names(const struct world *w, size_t dir);
/* The lock file of a version in the first directory; the caller's. */
char *world_lock(const struct world *w, int version);
