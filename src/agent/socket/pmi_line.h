/* pmi_line.h - lines of PMI-1, the wire between an MPI library and whoever started it. Pure.
 *
 *     cmd=init pmi_version=1 pmi_subversion=1       name=value pairs, a blank between them
 *     cmd=put kvsname=ydl key=P0-businesscard value=description#host$port#4711$
 *
 * A `value` comes last and goes on to the end of the line. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define PMI_NAME_MAX 64 /* bytes of names and keys, and of values; what we announce */
#define PMI_VALUE_MAX 1024
#define PMI_LINE_MAX 4096

/* The value of `name` in the line (without its newline); false when there is none or it does not
 * fit. */
bool pmi_field(const char *line, const char *name, char *out, size_t cap);
