/* files.h - the Python side of Slider applications, as it stands beside each of their tasks.
 *
 * The files of this directory, in the binary: agent.py, which a task runs, and the package
 * `resource_management`, which the applications' own scripts import. Whoever starts an application
 * packs them into an archive that is unpacked as `slider` in the task's directory. Data, made when
 * ydl is built (cmake/ydl_embed.cmake). Any thread. */
#pragma once
#include <stddef.h>

struct slider_file {
    const char *name;          /* relative: "resource_management/core/shell.py" */
    const unsigned char *data; /* with a NUL behind, which `size` does not count */
    size_t size;
};

extern const struct slider_file slider_files[]; /* by name; the last has no name */
