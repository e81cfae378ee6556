/* replay.c - feeds files, or every file of a directory, to a fuzz target: a corpus as a test.
 *
 *     fuzz_replay_NAME PATH… */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The bytes are copied into a block of their exact size, so that a sanitizer sees the first byte
 * read past the end. */
static int replay_file(const char *path)
{
    FILE *f = fopen(path, "re");
    struct stat st;
    uint8_t *data;
    size_t n;

    if (!f || fstat(fileno(f), &st) < 0) {
        fprintf(stderr, "replay: %s: %m\n", path);
        if (f)
            fclose(f);
        return -1;
    }
    data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
    n = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
    fclose(f);
    if (!data || n != (size_t)st.st_size) {
        fprintf(stderr, "replay: %s: cannot be read whole\n", path);
        free(data);
        return -1;
    }
    (void)LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

static int replay_dir(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    int total = 0;

    while (dir && (e = readdir(dir))) {
        char *file = NULL;
        int r;

        if (e->d_name[0] == '.')
            continue;
        r = asprintf(&file, "%s/%s", path, e->d_name) < 0 ? -1 : replay_file(file);
        if (r < 0)
            total = r;
        free(file);
        if (r < 0)
            break;
        total += r;
    }
    if (dir)
        closedir(dir);
    return total;
}

static int replay(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        fprintf(stderr, "replay: %s: %m\n", path);
        return -1;
    }
    return S_ISDIR(st.st_mode) ? replay_dir(path) : replay_file(path);
}

int main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        int r = replay(argv[i]);

        if (r < 0)
            return 1;
        total += r;
    }
    printf("%d inputs\n", total);
    return total ? 0 : 1; /* an empty corpus proves nothing */
}
