/* native_programs.h - puts ydl-native where a job's tasks find it.
 *
 * A framework makes roles that run `ydl-native …` (framework/native.h) and knows no paths. Here
 * they become commands that can be started:
 *
 *   - on this machine (also a role of `place: client`): the program that lies beside ydl;
 *   - on the cluster: `./ydl-native`, a file of the role's that travels and is kept by its content
 *     like any other;
 *   - in an image on this machine: `ydl-native` as it is, for the image to have.
 *
 * Looks at the local disk. */
#pragma once
#include "job/spec/spec.h"

/* `dir` is where ydl is. Without the program there, a role with --fallback gets back the command
 * that it stands in for, and any other is a fault in `f`. 0, -EINVAL when there was one, -ENOMEM.
 */
int native_programs_find(struct spec *s, const char *dir, bool on_cluster, struct spec_faults *f);
