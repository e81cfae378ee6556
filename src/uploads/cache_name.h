/* cache_name.h - names in the cache, and whose they are.
 *
 * The name of an unfinished upload says who makes it: the running system and the process. So the
 * next client on the same machine knows at once that its maker is dead. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* The name of a file in the cache, made from its name here: letters that a launch script might
 * read as something else become '_', and the ending stays. With `packed` it gets ".tar". A new
 * string; NULL when out of memory. */
char *cache_name(const char *path, bool packed);

/* How a name ends that tells YARN how to unpack: ".tar.gz" of "Env.TAR.gz"; "" for others. */
const char *cache_ending(const char *name);

/* A process id, or a lock, is meaningful only to programs that see the same processes: on the same
 * boot of the same kernel, in the same pid namespace. The same text means so; false when that
 * cannot be told. */
#define CACHE_MACHINE 17
bool cache_machine(char ret[CACHE_MACHINE]);

/* ".put-MACHINE-PID-START-NOISE": a new one. *ret is the caller's. */
int cache_temp(char **ret, struct err *err);

enum cache_temp_maker {
    CACHE_TEMP_NONE,  /* it is no such name */
    CACHE_TEMP_LIVES, /* its maker runs on this machine */
    CACHE_TEMP_DEAD,  /* it ran on this machine */
    CACHE_TEMP_FAR,   /* it is or was on another one, or before this one was started again */
};
enum cache_temp_maker cache_temp_maker(const char *name);

/* What is being removed: ".gone-HASH-NOISE". */
int cache_gone(const char *hash, char **ret, struct err *err);
bool cache_is_gone(const char *name);
