/* spec_tree.c - libyaml's events build the tree on an explicit stack, never by recursion. What is
 * refused (anchors, tags, twins, size) is refused while it is read, so a hostile file costs no
 * more than its limits. See spec_tree.h. */
#include "job/spec/spec_tree.h"
#include "base/array.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

/* The containers that are open, outermost first. A container does not move while it is open, for
 * its parent gets no further element before it is closed. */
struct builder {
    yaml_parser_t parser;
    struct spec_faults *f;
    struct spec_node *root;
    struct spec_node *open[SPEC_DEPTH_MAX];
    size_t depth, nodes;
    char *key[SPEC_DEPTH_MAX]; /* read, its value not yet */
    int key_line[SPEC_DEPTH_MAX];
    bool ended;
};

static void free_children(struct spec_node *node)
{
    for (size_t i = 0; i < node->n; i++) {
        free_children(&node->v[i]); /* at most SPEC_DEPTH_MAX deep */
        free(node->v[i].key);
        free(node->v[i].text);
    }
    free(node->v);
}

struct spec_node *spec_tree_free(struct spec_node *root)
{
    if (root) {
        free_children(root);
        free(root->text);
        free(root);
    }
    return NULL;
}

/* ---- building ---- */

static int spec_refuse(struct builder *b, size_t line, const char *what)
{
    b->f->unreadable = true;
    return spec_fault(b->f, (int)line + 1, NULL, "%s", what) == -ENOMEM ? -ENOMEM : -EINVAL;
}

/* A new last element of the innermost container, or the root; NULL with the reason when there can
 * be none. Its line is that of its key. Counted before it is made: a file of a few kilobytes cannot
 * ask for gigabytes. */
static int new_node(struct builder *b, size_t line, struct spec_node **ret)
{
    struct spec_node *parent = b->depth ? b->open[b->depth - 1] : NULL;

    *ret = NULL;
    if (++b->nodes > SPEC_NODES_MAX)
        return spec_refuse(b, line, "too large: more than 100,000 values");
    if (!parent) {
        *ret = b->root = calloc(1, sizeof(**ret));
        if (!b->root)
            return -ENOMEM;
        b->root->line = (int)line + 1;
        return 0;
    }
    if (ARRAY_ADD(parent->v, parent->n, (struct spec_node){ .line = (int)line + 1 }) < 0)
        return -ENOMEM;
    *ret = &parent->v[parent->n - 1];
    if (parent->kind == SPEC_NODE_MAP) {
        (*ret)->key = take(b->key[b->depth - 1]);
        (*ret)->line = b->key_line[b->depth - 1];
    }
    return 0;
}

static bool wants_key(const struct builder *b)
{
    return b->depth && b->open[b->depth - 1]->kind == SPEC_NODE_MAP && !b->key[b->depth - 1];
}

static bool means_nothing(const yaml_event_t *e)
{
    const char *s = (const char *)e->data.scalar.value;

    return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (*s == '\0' || strcmp(s, "~") == 0 || strcasecmp(s, "null") == 0);
}

/* In a map every second scalar is a key, which is kept until its value comes. */
static int add_scalar(struct builder *b, const yaml_event_t *e)
{
    const char *s = (const char *)e->data.scalar.value;
    size_t line = e->start_mark.line;
    struct spec_node *node;
    char *copy;
    int r;

    if (strlen(s) != e->data.scalar.length)
        return spec_refuse(b, line, "a text contains a NUL byte");
    if (wants_key(b)) {
        b->key_line[b->depth - 1] = (int)line + 1;
        b->key[b->depth - 1] = strdup(s);
        return b->key[b->depth - 1] ? 0 : -ENOMEM;
    }
    copy = strdup(s);
    if (!copy)
        return -ENOMEM;
    r = new_node(b, line, &node);
    if (!node) {
        free(copy);
        return r;
    }
    node->kind = means_nothing(e) ? SPEC_NODE_NOTHING : SPEC_NODE_TEXT;
    node->text = copy;
    return 0;
}

static int spec_begin(struct builder *b, const yaml_event_t *e, enum spec_node_kind kind)
{
    size_t line = e->start_mark.line;
    struct spec_node *node;
    int r;

    if (wants_key(b))
        return spec_refuse(b, line, "a key must be text, not a list or a map");
    if (b->depth == SPEC_DEPTH_MAX)
        return spec_refuse(b, line, "lists and maps are nested more than 32 deep");
    r = new_node(b, line, &node);
    if (!node)
        return r;
    node->kind = kind;
    b->open[b->depth++] = node;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct spec_node *x = *(const struct spec_node *const *)a;
    const struct spec_node *y = *(const struct spec_node *const *)b;
    int d = strcmp(x->key, y->key);

    return d ? d : (x > y) - (x < y);
}

/* "roles.worker", of the map that was just closed; cut where it is too long. */
static void spec_path_of(const struct builder *b, char *out, size_t cap)
{
    size_t n = 0;

    *out = '\0';
    for (size_t i = 1; i <= b->depth && n < cap; i++) {
        n += (size_t)(b->open[i]->key ? 0
                                      : snprintf(out + n, cap - n, "[%zu]", b->open[i - 1]->n - 1));
        if (b->open[i]->key && n + 2 < cap) {
            n += (size_t)snprintf(out + n, cap - n, "%s", n ? "." : "");
            n += str_clean(out + n, cap - n, b->open[i]->key);
        }
    }
}

/* Sorted, because a hostile map may have 50,000 keys. */
static int refuse_twins(struct builder *b, const struct spec_node *map)
{
    AUTO_FREE const struct spec_node **sorted = calloc(map->n + 1, sizeof(struct spec_node *));
    char path[128], shown[64];
    int r = 0;

    if (!sorted)
        return -ENOMEM;
    spec_path_of(b, path, sizeof(path));
    for (size_t i = 0; i < map->n; i++)
        sorted[i] = &map->v[i];
    qsort(sorted, map->n, sizeof(struct spec_node *), by_key);
    for (size_t i = 1; i < map->n && r != -ENOMEM; i++) {
        if (strcmp(sorted[i]->key, sorted[i - 1]->key) != 0)
            continue;
        str_clean(shown, sizeof(shown), sorted[i]->key);
        r = spec_fault(b->f, sorted[i]->line, *path ? path : NULL,
                       "'%s' is given twice, first on line %d", shown, sorted[i - 1]->line);
    }
    return r == -ENOMEM ? r : 0;
}

static int spec_end(struct builder *b)
{
    const struct spec_node *node = b->open[--b->depth];

    return node->kind == SPEC_NODE_MAP && node->n > 1 ? refuse_twins(b, node) : 0;
}

/* Anchors are refused even when nobody refers to them, so that the sentence names the cause. */
static const char *forbidden(const yaml_event_t *e)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    switch (e->type) {
    case YAML_ALIAS_EVENT:
        return "aliases (*name) are not supported: write the value out";
    case YAML_SCALAR_EVENT:
        anchor = e->data.scalar.anchor;
        tag = e->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = e->data.sequence_start.anchor;
        tag = e->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = e->data.mapping_start.anchor;
        tag = e->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor)
        return "anchors (&name) are not supported: write the value out";
    return tag ? "tags (!name) are not supported: put the text into quotes" : NULL;
}

static int on_event(struct builder *b, const yaml_event_t *e)
{
    const char *wrong = forbidden(e);

    if (wrong)
        return spec_refuse(b, e->start_mark.line, wrong);
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return add_scalar(b, e);
    case YAML_SEQUENCE_START_EVENT:
        return spec_begin(b, e, SPEC_NODE_LIST);
    case YAML_MAPPING_START_EVENT:
        return spec_begin(b, e, SPEC_NODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return spec_end(b);
    case YAML_DOCUMENT_START_EVENT:
        return b->root ? spec_refuse(b, e->start_mark.line, "a second document begins here") : 0;
    case YAML_STREAM_END_EVENT:
        b->ended = true;
        return 0;
    default:
        return 0;
    }
}

/* ---- what libyaml does not like ---- */

/* Whether the line (from 0) begins with white space that has a tab in it: the one mistake that
 * libyaml's own words do not tell. */
static bool tab_indents(const char *text, size_t n, size_t line)
{
    const char *end = text + n;

    for (; line > 0 && text < end; line--) {
        const char *next = memchr(text, '\n', (size_t)(end - text));

        text = next ? next + 1 : end;
    }
    while (text < end && *text == ' ')
        text++;
    return text < end && *text == '\t';
}

static int complain(struct builder *b, const char *text, size_t n)
{
    const yaml_parser_t *p = &b->parser;
    const char *problem = p->problem ? p->problem : "cannot be read";

    if (p->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    b->f->unreadable = true;
    if (p->error == YAML_READER_ERROR)
        return spec_fault(b->f, (int)p->mark.line + 1, NULL, "not UTF-8 text: %s (byte %zu)",
                          problem, p->problem_offset);
    if (tab_indents(text, n, p->problem_mark.line))
        return spec_fault(b->f, (int)p->problem_mark.line + 1, NULL,
                          "tabs cannot be used for indentation: use spaces");
    if (p->context && p->context_mark.line != p->problem_mark.line)
        return spec_fault(b->f, (int)p->problem_mark.line + 1, NULL,
                          "not YAML: %s (column %zu), %s from line %zu", problem,
                          p->problem_mark.column + 1, p->context, p->context_mark.line + 1);
    return spec_fault(b->f, (int)p->problem_mark.line + 1, NULL, "not YAML: %s (column %zu)",
                      problem, p->problem_mark.column + 1);
}

static int spec_build(struct builder *b, const char *text, size_t n)
{
    int r = 0;

    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, n);
    while (r == 0 && !b->ended) {
        yaml_event_t e;

        if (!yaml_parser_parse(&b->parser, &e))
            return complain(b, text, n);
        r = on_event(b, &e);
        yaml_event_delete(&e);
    }
    return r;
}

int spec_tree(const void *text, size_t n, struct spec_node **ret, struct spec_faults *f)
{
    struct builder b = { .f = f };
    size_t before = f->n;
    int r;

    if (!yaml_parser_initialize(&b.parser))
        return -ENOMEM;
    r = spec_build(&b, n ? text : "", n);
    yaml_parser_delete(&b.parser);
    for (size_t i = 0; i < SPEC_DEPTH_MAX; i++)
        free(b.key[i]);
    if (r == 0 && !b.root) {
        b.root = calloc(1, sizeof(*b.root)); /* nothing but comments */
        if (!b.root)
            return -ENOMEM;
        b.root->line = 1;
    }
    *ret = b.root;
    return r == 0 && f->n > before ? -EINVAL : r;
}

/* ---- looking at it ---- */

/* The entry of `map` whose key stands at the start of `path`: keys may have dots themselves, so
 * the longest one counts. */
static const struct spec_node *entry_at(const struct spec_node *map, const char *path)
{
    const struct spec_node *found = NULL;
    size_t best = 0;

    for (size_t i = 0; i < map->n; i++) {
        size_t len = strlen(map->v[i].key);

        if (len < best || strncmp(path, map->v[i].key, len) != 0 || !strchr(".[", path[len]))
            continue; /* strchr also finds the end of the path */
        found = &map->v[i];
        best = len;
    }
    return found;
}

int spec_tree_line(const struct spec_node *root, const char *path)
{
    const struct spec_node *node = root;
    int line = 0;

    while (node && *path) {
        const struct spec_node *next = NULL;

        if (*path == '[' && node->kind == SPEC_NODE_LIST) {
            size_t i = strtoul(path + 1, NULL, 10);

            next = i < node->n ? &node->v[i] : NULL;
            path += strcspn(path, "]");
            path += *path == ']';
        } else if (node->kind == SPEC_NODE_MAP) {
            path += *path == '.';
            next = entry_at(node, path);
            path += next ? strlen(next->key) : 0;
        }
        node = next;
        line = node ? node->line : line;
    }
    return line;
}

const char *spec_node_name(const struct spec_node *n)
{
    static const char *const names[] = {
        [SPEC_NODE_NOTHING] = "nothing",
        [SPEC_NODE_TEXT] = "text",
        [SPEC_NODE_LIST] = "a list",
        [SPEC_NODE_MAP] = "a map",
    };

    return names[n->kind];
}
