/* hdfs_listing.c - a directory as a hostile NameNode lists it: every name stays in it. */
#include "fuzz.h"
#include "hadoop/hdfs/file_status.h"

#include <string.h>

static void check_entry(const Hdfs__FileStatus *s)
{
    AUTO_FS_ENTRY e = { 0 };

    if (status_entry(s, "/d", false, &e) < 0)
        return;
    if (strcmp(e.path, "/d") == 0) {
        if (e.type == FS_DIRECTORY)
            abort();
        return;
    }
    if (strncmp(e.path, "/d/", 3) != 0 || strchr(e.path + 3, '/') || !e.path[3] ||
        strcmp(e.path + 3, ".") == 0 || strcmp(e.path + 3, "..") == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Hdfs__DirectoryListing *l = hdfs__directory_listing__unpack(NULL, size, data);

    for (size_t i = 0; l && i < l->n_entries; i++)
        check_entry(l->entries[i]);
    if (l)
        hdfs__directory_listing__free_unpacked(l, NULL);
    return 0;
}
