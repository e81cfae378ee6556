/* tee.h - standard error into a file too, as --log-file of the older programs promised.
 *
 * A process of our own copies a pipe that stands in for descriptor 2. It ends when the last writer
 * has closed the pipe, so nothing is lost and nobody is left. Main thread, before anything else has
 * been started. */
#pragma once
#include "base/auto.h"
#include "base/err.h"

struct tee;
/* The file is appended to, and made with mode 0644. */
int tee_start(const char *path, struct tee **ret, struct err *err);
/* Puts descriptor 2 back and waits for the copier. */
struct tee *tee_stop(struct tee *t);

AUTO_DEFINE(tee, struct tee *, tee_stop);
#define AUTO_TEE AUTO(tee)
