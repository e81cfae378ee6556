/* format_xgboost_ubj.c - walks a UBJSON document, keeping the few values that are wanted by their
 * path:
 *
 *     value   = type data                       numbers big endian
 *     object  = '{' (length key value)… '}'     length = an integer value; keys have no type
 *     array   = '[' value… ']' | '[' '$' type '#' count data | '[' '#' count value…
 *
 * The depth is kept in an array, not on the stack. */
#include "model/format/format_xgboost_ubj.h"

#include <string.h>

#define DEPTH_MOST 64
#define KEY_MOST 256

struct level {
    bool object;
    uint64_t left; /* elements of an array with a count */
    bool counted;
    uint64_t index; /* of an array: which element comes */
};

struct ubj {
    struct pages *pages;
    uint64_t at;
    bool bad;
    struct level levels[DEPTH_MOST];
    char keys[DEPTH_MOST][KEY_MOST]; /* the key that is being read at each level */
    size_t depth;
};

static uint8_t ubj_byte(struct ubj *u)
{
    const uint8_t *p = u->bad ? NULL : pages_get(u->pages, u->at, 1);

    u->bad |= !p || !pages_step(u->pages);
    u->at += u->bad ? 0 : 1;
    return u->bad ? 0 : *p;
}

static uint8_t ubj_peek(struct ubj *u)
{
    const uint8_t *p = u->bad ? NULL : pages_get(u->pages, u->at, 1);

    return p ? *p : 0;
}

static void ubj_skip(struct ubj *u, uint64_t n)
{
    u->bad |= n > u->pages->size - u->at;
    u->at += u->bad ? 0 : n;
}

/* Bytes of a number or of one of the words true, false and null; -1 for anything else. */
static int ubj_width(uint8_t type)
{
    static const struct {
        char type;
        int8_t width;
    } rows[] = { { 'Z', 0 }, { 'N', 0 }, { 'T', 0 }, { 'F', 0 }, { 'i', 1 }, { 'U', 1 },
                 { 'C', 1 }, { 'I', 2 }, { 'l', 4 }, { 'd', 4 }, { 'L', 8 }, { 'D', 8 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].type == (char)type)
            return rows[i].width;
    return -1;
}

/* `U` is the one integer without a sign; the others are extended from their highest bit. */
static int64_t ubj_integer(struct ubj *u, uint8_t type)
{
    int width = ubj_width(type);
    const uint8_t *p = width > 0 && !u->bad && strchr("iUIlL", type)
                           ? pages_get(u->pages, u->at, (size_t)width)
                           : NULL;
    uint64_t v = 0;

    if (!p) {
        u->bad = true;
        return 0;
    }
    for (int i = 0; i < width; i++)
        v = v << 8 | p[i];
    u->at += (uint64_t)width;
    if (type != 'U' && width < 8 && v >> (8 * width - 1))
        v |= ~0ULL << (8 * width);
    return (int64_t)v;
}

static uint64_t ubj_length(struct ubj *u)
{
    int64_t n = ubj_integer(u, ubj_byte(u));

    u->bad |= n < 0;
    return u->bad ? 0 : (uint64_t)n;
}

/* Text into `to`, cut there. */
static void ubj_text(struct ubj *u, char *to, size_t cap)
{
    uint64_t n = ubj_length(u);
    size_t part = n < cap - 1 ? (size_t)n : cap - 1;
    const uint8_t *p = u->bad ? NULL : pages_get(u->pages, u->at, part);

    *to = '\0';
    u->bad |= !p;
    if (u->bad)
        return;
    memcpy(to, p, part);
    to[part] = '\0';
    ubj_skip(u, n);
}

/* ---- what is wanted ---- */

/* `depth` counts what is open: at 3 the keys are, say, learner / learner_model_param /
 * num_class. */
static bool ubj_is_at(const struct ubj *u, size_t depth, const char *a, const char *b)
{
    return u->depth == depth && str_eq(u->keys[0], a) && (!b || str_eq(u->keys[1], b));
}

static void ubj_take_text(const struct ubj *u, struct xgboost *x, const char *value)
{
    if (ubj_is_at(u, 3, "learner", "learner_model_param") && !str_eq(u->keys[2], "name"))
        xgboost_take(x, u->keys[2], value);
    else if (ubj_is_at(u, 3, "learner", "objective") && str_eq(u->keys[2], "name"))
        xgboost_take(x, "name", value);
}

static void ubj_take_integer(const struct ubj *u, struct xgboost *x, int64_t value)
{
    uint64_t i = u->depth == 2 ? u->levels[1].index : 0;

    if (ubj_is_at(u, 2, "version", NULL) && !u->levels[1].object && i < COUNT_OF(x->version))
        x->version[i] = value;
}

/* ---- the walk ---- */

static void ubj_open(struct ubj *u, bool object)
{
    struct level *l = &u->levels[u->depth];

    if (u->depth == DEPTH_MOST) {
        u->bad = true;
        return;
    }
    *l = (struct level){ .object = object };
    u->keys[u->depth][0] = '\0';
    u->depth++;
}

/* An array of numbers of one type is passed over as a whole.
 *
 * XGBoost writes its trees so: skipping them by their length makes a model of gigabytes a few
 * kilobytes to read. */
static void ubj_array(struct ubj *u)
{
    uint8_t type = 0;
    uint64_t n;

    if (ubj_peek(u) == '$') {
        ubj_byte(u);
        type = ubj_byte(u);
        u->bad |= ubj_peek(u) != '#';
    }
    if (ubj_peek(u) != '#') {
        ubj_open(u, false);
        return;
    }
    ubj_byte(u);
    n = ubj_length(u);
    if (type) {
        int width = ubj_width(type);

        u->bad |= width < 0 || (width > 0 && n > u->pages->size / (uint64_t)width);
        if (!u->bad)
            ubj_skip(u, n * (uint64_t)width);
        return;
    }
    ubj_open(u, false);
    if (!u->bad)
        u->levels[u->depth - 1].counted = true;
    if (!u->bad)
        u->levels[u->depth - 1].left = n;
}

static void ubj_value(struct ubj *u, struct xgboost *x)
{
    uint8_t type = ubj_byte(u);
    char text[KEY_MOST];

    if (type == '{') {
        if (ubj_is_at(u, 2, "learner", "gradient_booster"))
            x->is = true;
        ubj_open(u, true);
        u->bad |= ubj_peek(u) == '$' || ubj_peek(u) == '#'; /* XGBoost writes none of these */
    } else if (type == '[') {
        ubj_array(u);
    } else if (type == 'S' || type == 'H') {
        ubj_text(u, text, sizeof(text));
        ubj_take_text(u, x, text);
    } else if (!u->bad && strchr("iUIlL", type) && type) {
        ubj_take_integer(u, x, ubj_integer(u, type));
    } else {
        u->bad |= ubj_width(type) < 0;
        if (!u->bad)
            ubj_skip(u, (uint64_t)ubj_width(type));
    }
}

/* What comes next in the innermost object or array: its end, or one more value.
 *
 * An element of an array counts when it has ended: at once for a number, and for an object or array
 * when its end is met. */
static void ubj_step(struct ubj *u, struct xgboost *x)
{
    struct level *l = &u->levels[u->depth - 1];

    if (l->counted ? l->left == 0 : ubj_peek(u) == (l->object ? '}' : ']')) {
        if (!l->counted)
            ubj_byte(u);
        u->depth--;
        if (u->depth > 0 && !u->levels[u->depth - 1].object)
            u->levels[u->depth - 1].index++;
        return;
    }
    if (l->object)
        ubj_text(u, u->keys[u->depth - 1], KEY_MOST);
    if (l->counted)
        l->left--;
    {
        size_t depth = u->depth;

        ubj_value(u, x);
        if (u->depth == depth && !l->object)
            l->index++;
    }
}

bool xgboost_ubj_begins(const uint8_t *p, size_t n)
{
    static const char learner[] = "learner", version[] = "version";

    return memmem(p, n < 32 ? n : 32, learner, 7) || memmem(p, n < 32 ? n : 32, version, 7);
}

int xgboost_ubj(const struct format_tree *t, size_t file, struct xgboost *x, struct err *err)
{
    AUTO_PAGES pages = pages_of(t, file);
    AUTO_FREE struct ubj *u = calloc(1, sizeof(*u));

    if (!u)
        return err_oom(err);
    u->pages = &pages;
    u->bad = ubj_byte(u) != '{';
    if (!u->bad)
        ubj_open(u, true);
    while (!u->bad && u->depth > 0)
        ubj_step(u, x);
    x->is &= !u->bad;
    return pages_failed(&pages, err);
}
