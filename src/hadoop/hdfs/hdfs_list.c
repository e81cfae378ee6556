/* hdfs_list.c - what is in a directory, page by page. See hdfs.h. */
#include "hadoop/hdfs/file_status.h"
#include "hadoop/hdfs/private.h"

#include <string.h>

struct hdfs_list {
    struct hdfs *fs;
    char *path;
    Hdfs__GetListingResponse *page;
    size_t at; /* next entry of the page */
    struct fs_entry entry;
};

/* The first page, or that after the last name of the one before. A page has as many names as the
 * server likes (dfs.ls.limit). Names that are added or removed behind the last one are seen, and
 * none is seen twice. */
static int hdfs_list_fetch(struct hdfs_list *l, const char *after, struct err *err)
{
    Hdfs__GetListingRequest request = HDFS__GET_LISTING_REQUEST__INIT;
    Hdfs__GetListingResponse *page = NULL;
    int r;

    request.src = l->path;
    request.start_after = (ProtobufCBinaryData){ strlen(after), (uint8_t *)after };
    if (l->page && l->page->listing->n_entries > 0)
        request.start_after = l->page->listing->entries[l->page->listing->n_entries - 1]->path;
    r = hdfs_call(l->fs, NN_GET_LISTING, l->path, &request, &page, err);
    if (r < 0)
        return r;
    if (!page->listing) {
        rpc_free(page);
        return err_set(err, -ENOENT, "list '%s': no such file or directory", l->path);
    }
    rpc_free(l->page);
    l->page = page;
    l->at = 0;
    return 0;
}

int hdfs_list_open(struct hdfs *fs, const char *path, const char *after, struct hdfs_list **ret,
                   struct err *err)
{
    struct hdfs_list *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return err_oom(err);
    l->fs = fs;
    l->path = strdup(path);
    r = l->path ? hdfs_list_fetch(l, after, err) : err_oom(err);
    if (r < 0) {
        hdfs_list_close(l);
        return r;
    }
    *ret = l;
    return 0;
}

int hdfs_list_next(struct hdfs_list *l, const struct fs_entry **ret, struct err *err)
{
    const Hdfs__DirectoryListing *page = l->page->listing;
    int r;

    /* A page without entries cannot be followed by another: it has no last name. */
    while (l->at == page->n_entries && page->n_entries > 0 && page->remaining_entries > 0) {
        r = hdfs_list_fetch(l, "", err);
        if (r < 0)
            return r;
        page = l->page->listing;
    }
    fs_entry_done(&l->entry);
    if (l->at == page->n_entries)
        return 0;
    r = status_entry(page->entries[l->at++], l->path, false, &l->entry);
    if (r == -EBADMSG)
        return err_set(err, r, "list '%s': the NameNode sent an impossible file name", l->path);
    if (r < 0)
        return err_code(err, r, "list '%s'", l->path);
    *ret = &l->entry;
    return 1;
}

struct hdfs_list *hdfs_list_close(struct hdfs_list *l)
{
    if (!l)
        return NULL;
    fs_entry_done(&l->entry);
    rpc_free(l->page);
    free(l->path);
    free(l);
    return NULL;
}
