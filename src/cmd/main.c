/* main.c - ydl: what people type, under its own name or under that of a front end. */
#include "cli/globals.h"
#include "cmd/front/front.h"
#include "cmd/verbs.h"

int main(int argc, char **argv)
{
    const struct front *f = front_find(argc > 0 ? argv[0] : NULL);

    return f ? front_main(f, &program_ydl, argc, argv) : globals_main(&program_ydl, argc, argv);
}
