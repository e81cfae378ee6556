/* java_look.c - what was read, and its end; see java.h */
#include "hadoop/logs/java.h"
#include "hadoop/logs/java_private.h"

#include <string.h>

struct java *java_free(struct java *j)
{
    if (!j)
        return NULL;
    for (struct node *n = j->nodes, *next; n; n = next) {
        next = n->next;
        free(n->v.slots);
        free(n->v.items);
        free(n);
    }
    for (struct java_class *c = j->classes, *next; c; c = next) {
        next = c->next;
        free(c->fields);
        free(c);
    }
    free(j->handles);
    free(j);
    return NULL;
}

const struct java_value *java_root(const struct java *j)
{
    return j->root;
}

/* The slots end with one that has no field. A lower class's field hides a higher one's. */
static const struct java_slot *find_slot(const struct java_value *v, const char *name)
{
    const struct java_slot *found = NULL;

    if (!v || v->kind != JAVA_OBJECT)
        return NULL;
    for (const struct java_slot *s = v->slots; s->field; s++)
        if (s->field->name.n == strlen(name) && memcmp(s->field->name.p, name, strlen(name)) == 0)
            found = s;
    return found;
}

const struct java_value *java_field(const struct java_value *v, const char *name)
{
    const struct java_slot *s = find_slot(v, name);

    return s ? s->value : NULL;
}

int java_number(const struct java_value *v, const char *name, int64_t *ret)
{
    const struct java_slot *s = find_slot(v, name);

    if (!s || !strchr("BIJSZ", s->field->type))
        return -ENOENT;
    *ret = s->number;
    return 0;
}

struct view java_text(const struct java_value *v, const char *name)
{
    const struct java_value *text = java_field(v, name);

    return text && text->kind == JAVA_TEXT ? text->text : view_of("", 0);
}
