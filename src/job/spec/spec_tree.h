/* spec_tree.h - a YAML text as a tree that remembers lines: libyaml's events, with limits.
 *
 * Only plain data passes: no anchors, aliases, tags or second documents, no NUL bytes, no key twice
 * in a map, nothing deeper or larger than the limits. So a small file cannot become a large tree.
 * Pure; any thread. */
#pragma once
#include "job/spec/spec.h"

#define SPEC_DEPTH_MAX 32     /* lists and maps in each other */
#define SPEC_NODES_MAX 100000 /* texts, lists and maps of one file */

enum spec_node_kind {
    SPEC_NODE_NOTHING, /* empty, null or ~ */
    SPEC_NODE_TEXT,    /* any scalar: what it means is the reader's business */
    SPEC_NODE_LIST,
    SPEC_NODE_MAP,
};

struct spec_node {
    enum spec_node_kind kind;
    char *key;  /* of an entry of a map; NULL elsewhere */
    char *text; /* as written, quotes and escapes undone; also of NOTHING */
    int line;   /* where it stands, from 1: that of the key in a map */
    struct spec_node *v;
    size_t n;
};

/* *ret is the caller's, also when faults were found: -EINVAL then, and f->unreadable unless the
 * only ones are keys given twice. -ENOMEM. An empty text gives NOTHING. */
int spec_tree(const void *text, size_t n, struct spec_node **ret, struct spec_faults *f);
struct spec_node *spec_tree_free(struct spec_node *root);
AUTO_DEFINE(spec_tree, struct spec_node *, spec_tree_free);

/* The line of a path such as "roles.worker.files[2]", or of as much of it as there is; 0 when not
 * even its first key is there. */
int spec_tree_line(const struct spec_node *root, const char *path);

const char *spec_node_name(const struct spec_node *n); /* "a list", for sentences */
