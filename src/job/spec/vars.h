/* vars.h - {variables} in commands and environment values.
 *
 *     {job} {role} {index} {rank} {world} {local_rank} {generation} {attempt} {host} {port} {out}
 *     {port:K}          the K-th of its own ports, from 0
 *     {hosts:ROLE}      "10.0.0.1:4000,10.0.0.2:4000"; without the ports where it has none
 *     {addresses:ROLE}  the same without ports
 *     {host:ROLE:N}     the address of one task, by its rank
 *     {port:ROLE:N}     and its first port
 *     {count:ROLE}      how many tasks
 *
 * Known ones are replaced; text in braces that names none stays as it is, so that JSON and shell
 * text pass untouched. "{{rank}}" is the literal "{rank}", and so for every text that would be
 * replaced or that vars_check() would refuse. Pure; any thread. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* What the names mean for one task; all borrowed. */
struct vars {
    const char *job, *role, *host, *out;
    unsigned index, rank, world, local_rank, generation, attempt;
    const unsigned short *port; /* its own, `n_ports` of them */
    unsigned n_ports;
    /* Lists of other roles, for {hosts:ROLE} and the like; NULL: they have no value. */
    const struct cluster *cluster;
};

/* Appends `text` with its variables replaced. -EINVAL for a known name that has no value here
 * ({port} of a task without one, {hosts:nobody}). -E2BIG past the ceiling of `out`. */
int vars_expand(const struct vars *v, const char *text, struct buf *out, struct err *err);

/* A role as it is known before anything runs. */
struct vars_role {
    const char *name;
    size_t tasks;
    int ports; /* of each task; -1: not known */
};

/* Looks at a text without values: 0, or -EINVAL naming the role or name that is wrong or, by one
 * typing mistake, nearly right. `roles` are all roles of the job, `own` is the one that the text
 * belongs to. For spec_check(). */
int vars_check(const char *text, const struct vars_role *roles, size_t n_roles,
               const struct vars_role *own, struct err *err);

/* An upper bound of the bytes that `text` can become, addresses being IPv4. */
size_t vars_size(const char *text, const struct vars_role *roles, size_t n_roles);

extern const char *const vars_names[]; /* NULL-terminated, for help texts: "hosts:ROLE" */
