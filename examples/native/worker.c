/* worker.c - a worker of MXNet's distributed key-value store in plain C: no Python anywhere.
 *
 *     cc -o worker worker.c -ldl
 *     ydl run -f job.yaml
 *
 * Learns one number, the mean of the numbers that all workers have: each pushes the gradient of its
 * own share, and the servers, which are ydl-native, do the steps of SGD. Nothing in it knows how it
 * was started: MXNet finds the others by the variables that ydl sets. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned uint;

/* As much of MXNet's C interface as is used here. */
static int (*create)(const char *, void **);
static int (*release)(void *);
static int (*get_rank)(void *, int *);
static int (*get_size)(void *, int *);
static int (*barrier)(void *);
static int (*command)(void *, int, const char *);
static int (*init)(void *, uint, const int *, void **);
static int (*push)(void *, uint, const int *, void **, int);
static int (*pull)(void *, uint, const int *, void **, int);
static int (*array)(const uint *, uint, int, int, int, int, void **);
static int (*copy_in)(void *, const void *, size_t);
static int (*copy_out)(void *, void *, size_t);
static const char *(*last_error)(void);

static void load(const char *path)
{
    const struct {
        const char *name;
        void *where;
    } symbols[] = {
        { "MXKVStoreCreate", &create },
        { "MXKVStoreFree", &release },
        { "MXKVStoreGetRank", &get_rank },
        { "MXKVStoreGetGroupSize", &get_size },
        { "MXKVStoreBarrier", &barrier },
        { "MXKVStoreSendCommmandToServers", &command },
        { "MXKVStoreInit", &init },
        { "MXKVStorePush", &push },
        { "MXKVStorePull", &pull },
        { "MXNDArrayCreateEx", &array },
        { "MXNDArraySyncCopyFromCPU", &copy_in },
        { "MXNDArraySyncCopyToCPU", &copy_out },
        { "MXGetLastError", &last_error },
    };
    void *library = dlopen(path, RTLD_NOW);

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        *(void **)symbols[i].where = library ? dlsym(library, symbols[i].name) : NULL;
        if (!*(void **)symbols[i].where) {
            fprintf(stderr, "worker: %s\n", dlerror());
            exit(1);
        }
    }
}

static void check(int r)
{
    if (r == 0)
        return;
    fprintf(stderr, "worker: %s\n", last_error());
    exit(1);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : getenv("MXNET_LIBRARY_PATH");
    const uint shape[] = { 1 };
    const int key = 0;
    float weight = 0, gradient;
    void *store, *value, *slope;
    int rank, size;

    load(path ? path : "libmxnet.so");
    check(create("dist_sync", &store));
    check(get_rank(store, &rank));
    check(get_size(store, &size));
    check(array(shape, 1, 1, 0, 0, 0, &value)); /* one float, on the CPU */
    check(array(shape, 1, 1, 0, 0, 0, &slope));
    check(copy_in(value, &weight, 1));
    check(init(store, 1, &key, &value));
    if (rank == 0)
        check(command(store, 0, "sgd lr=0.1 momentum=0.5"));
    check(barrier(store));
    for (int step = 0; step < 100; step++) {
        gradient = (weight - (float)(10 * (rank + 1))) / (float)size;
        check(copy_in(slope, &gradient, 1));
        check(push(store, 1, &key, &slope, 0));
        check(pull(store, 1, &key, &value, 0));
        check(copy_out(value, &weight, 1));
    }
    printf("worker %d of %d learnt %.3f\n", rank, size, weight);
    fflush(stdout);
    return release(store);
}
