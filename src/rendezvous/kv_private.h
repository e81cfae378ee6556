/* kv_private.h - what the files of the key-value store share.
 *
 * A place is something with a name that requests wait at: a key, or a barrier. A key that somebody
 * waits for has a place before it has a value; a place with neither value nor waits is freed. Every
 * wait is in three structures: its place's list, its task's list and, with a deadline, the heap. */
#pragma once
#include "rendezvous/kv.h"
#include "rendezvous/map.h"

#define KV_KEY_MAX 256
#define KV_VALUE_MAX MIB
#define KV_TOTAL_MAX (64 * MIB)
#define KV_KEYS_MAX 100000
#define KV_TASK_WAITS_MAX 256 /* of one task at a time */
#define KV_LIST_MAX MIB       /* bytes of keys in one answer */
#define KV_LEAVING_MAX (256 * KIB)
#define KV_TOLD_MAX 68 /* an agent has at most 65 requests of a task under way */

/* ---- kv_wait.c: who waits, and until when ---- */
struct kv_place {
    struct map_node node; /* first: a node is its place */
    struct map *map;      /* the map it is in */
    struct kv_wait *first, *last;
    size_t waits;
    size_t need;          /* barrier: how many must come … */
    bool usual;           /* … because the role has so many */
    bool late;            /* that somebody gave up was told */
    struct kv_done *came; /* room for those who wait and one more */
    size_t came_cap;
    void *value; /* key: NULL while there is none */
    size_t value_n;
    char name[]; /* key_n bytes */
};
struct kv_wait {
    uint32_t task;
    uint64_t id;
    int64_t deadline; /* INT64_MAX: none */
    size_t heap_at;   /* its index while it has a deadline */
    struct kv_place *place;
    struct kv_wait *place_prev, *place_next;
    struct kv_task *of;
    struct kv_wait *task_prev, *task_next;
};
struct kv_task {
    struct map_node node; /* first */
    uint32_t task;
    struct kv_wait *first;
    size_t waits;
};

struct kv {
    struct kv_events on;
    struct map keys, barriers, tasks, told;
    size_t n_keys; /* those with a value */
    size_t bytes;  /* of their names and values */
    struct kv_wait **heap;
    size_t heap_n;
};

/* The place of that name, made when there is none; NULL when out of memory. */
struct kv_place *kv_place_get(struct map *m, const struct kv_word *name);
/* Frees a place with neither value nor waits; leaves others alone. */
void kv_place_tidy(struct kv_place *p);

int kv_wait_add(struct kv *k, struct kv_place *p, const struct kv_ask *a, int64_t deadline);
/* Takes it out of everything and frees it. Its place stays: kv_place_tidy(). */
void kv_wait_drop(struct kv *k, struct kv_wait *w);
size_t kv_task_waits(const struct kv *k, uint32_t task);
/* What `task` waits for at `p`, or NULL. */
struct kv_wait *kv_wait_find(const struct kv *k, const struct kv_place *p, uint32_t task);
bool kv_wait_is_known(const struct kv *k, const struct kv_ask *a); /* this very request waits */

/* ---- kv_told.c: answers that may have been lost on their way ---- */
int kv_told_reserve(struct kv *k, uint32_t task); /* -ENOMEM; else keeping cannot fail */
/* Keeps an answer that is "ok", "none", "timeout" or a number; once. */
void kv_told_keep(struct kv *k, const struct kv_ask *a, const struct kv_word *words, size_t n);
void kv_told_done(struct kv *k, const struct kv_done *d); /* the same, before it is answered */
/* Answers as before; false when this request was not answered, or not kept. */
bool kv_told_again(struct kv *k, const struct kv_ask *a);
void kv_told_forget(struct kv *k, uint32_t task);
void kv_told_forget_all(struct kv *k);

/* ---- kv.c: answers ---- */
void kv_reply(struct kv *k, const struct kv_ask *a, const struct kv_word *words, size_t n);
void kv_answer(struct kv *k, const struct kv_ask *a, const char *word); /* a word alone */
void kv_answer_value(struct kv *k, const struct kv_ask *a, const void *p, size_t n);
void kv_answer_error(struct kv *k, const struct kv_ask *a, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The request that a wait stands for, to be answered with its words no longer at hand. */
struct kv_ask kv_ask_of(const struct kv_wait *w);
/* A word as a whole number; -EINVAL when it is not one or outside. */
int kv_number(const struct kv_word *w, int64_t min, int64_t max, int64_t *ret);
/* A word as it may be shown in a sentence. */
#define KV_SHOWN 80
const char *kv_show(const struct kv_word *w, char out[KV_SHOWN]);

void kv_changed(struct kv *k, const struct kv_change *c);

/* ---- kv_barrier.c ---- */
void kv_barrier_late(struct kv *k, struct kv_wait *w); /* its time is over: who is missing? */

/* ---- kv_store.c ---- */
struct kv_place *kv_find_key(struct kv *k, const struct kv_word *key); /* NULL: it has no value */
void kv_erase(struct kv *k, struct kv_place *p); /* its value; frees the place, too */
/* Stores a copy, if its size is allowed; -EINVAL: there may not. */
int kv_store(struct kv *k, const struct kv_word *key, const struct kv_word *value);

/* ---- the verbs: the number of words and the length of a name are right ---- */
typedef int kv_verb(struct kv *k, const struct kv_ask *a, struct err *err);
kv_verb kv_put, kv_putnew, kv_get, kv_del, kv_add, kv_list; /* kv_store.c */
kv_verb kv_wait, kv_barrier;                                /* kv_barrier.c */
kv_verb kv_note;                                            /* kv_note.c */
kv_verb kv_leaving, kv_move;                                /* kv_move.c */
kv_verb kv_progress;                                        /* kv_progress.c */
kv_verb kv_scale;                                           /* kv.c */
