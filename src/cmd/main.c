/* main.c - ydl: what people type. */
#include "cmd/globals.h"
#include "cmd/verbs.h"

int main(int argc, char **argv)
{
    return globals_main(&program_ydl, argc, argv);
}
