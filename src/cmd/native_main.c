/* native_main.c - ydl-native: servers of frameworks without Python. */
#include "base/dl.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"

#include <stdio.h>
#include <unistd.h>

/* exit() would run what the libraries of frameworks have registered for the end of a process.
 * MXNet's frees what its threads still use: of a hundred servers that had ended well, three died of
 * a signal then. All that is ours has been freed before. */
int main(int argc, char **argv)
{
    int code = globals_main(&program_ydl_native, argc, argv);

    if (dl_any_loaded()) {
        (void)fflush(NULL);
        _exit(code);
    }
    return code;
}
