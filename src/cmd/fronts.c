/* fronts.c - the commands of older systems that `ydl` is under other names. */
#include "cmd/front/fronts.h"
#include "cmd/verbs.h"

#include <string.h>

const struct cli_program *const front_table[] = {
    &front_dmlc.program,
    &front_submit.program,
    &front_launch.program,
    &front_mx.program,
    &front_tf.program,
    &front_slider.program,
    NULL,
};

const struct front *front_find(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path;

    for (const struct cli_program *const *p = front_table; *p; p++) {
        const struct front *f = (const struct front *)*p; /* its first member */

        if (str_eq((*p)->name, name))
            return f;
        for (const char *const *a = (*p)->aliases; a && *a; a++)
            if (str_eq(*a, name))
                return f;
    }
    return NULL;
}
