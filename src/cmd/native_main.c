/* native_main.c - ydl-native: servers of frameworks without Python. */
#include "cmd/globals.h"
#include "cmd/native.h"

int main(int argc, char **argv)
{
    return globals_main(&program_ydl_native, argc, argv);
}
