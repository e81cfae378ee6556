/* native_main.c - ydl-native: servers of frameworks without Python. */
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"

int main(int argc, char **argv)
{
    return globals_main(&program_ydl_native, argc, argv);
}
