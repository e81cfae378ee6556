/* job_paths.h - which directory the paths of a job are relative to.
 *
 * What a job file names lies beside it: its paths are relative to its directory, and its command
 * runs there. Paths on the command line are relative to the current directory. A path that is
 * not beside the file but in the current directory is taken from there, as it always was. Main
 * thread; looks at the local disk. */
#pragma once
#include "base/err.h"
#include "job/spec/spec.h"

/* After the job file was read and before the options are: makes the paths of `s` absolute, or
 * leaves them for job_base_options(), and sets s->directory when the command is the file's own
 * (`command`: another one stands on the command line). Nothing when the file lies in the current
 * directory, or is standard input. `here` says that results are files of this machine. -ENOMEM. */
int job_base(struct spec *s, const char *file, bool command, bool here);

/* After the options were read: what is still relative is so to the current directory, which needs
 * saying only where tasks run elsewhere. -ENOMEM. */
int job_base_options(struct spec *s, bool here);
