/* file_status.c - see file_status.h */
#include "hadoop/hdfs/file_status.h"
#include "base/path.h"

#include <string.h>

static struct fs_text file_status_text_of(const char *s)
{
    return (struct fs_text){ s, strlen(s) };
}

static struct fs_text bytes_of(const ProtobufCBinaryData *b)
{
    return (struct fs_text){ (const char *)b->data, b->len };
}

/* When a file itself is listed the NameNode gives no name: it is the one that was asked for. */
static bool file_status_good_name(const Hdfs__FileStatus *s)
{
    if (s->path.len == 0)
        return s->type != HDFS__FILE_TYPE__FILE_DIRECTORY;
    return path_is_name((const char *)s->path.data, s->path.len);
}

int status_entry(const Hdfs__FileStatus *s, const char *path, bool whole, struct fs_entry *ret)
{
    const struct fs_text none = { 0 };
    struct fs_text name = whole ? none : bytes_of(&s->path);
    struct fs_text target = s->has_symlink && s->symlink.len > 0 ? bytes_of(&s->symlink) : none;

    if (!whole && !file_status_good_name(s))
        return -EBADMSG;
    *ret = (struct fs_entry){
        .type = s->type == HDFS__FILE_TYPE__FILE_DIRECTORY ? FS_DIRECTORY
                : s->type == HDFS__FILE_TYPE__FILE_SYMLINK ? FS_SYMLINK
                                                           : FS_FILE,
        .mode = s->permission->perm & 01777,
        .length = s->length,
        .mtime = (int64_t)s->modification_time,
        .atime = (int64_t)s->access_time,
        .replication = s->block_replication,
        .block_size = s->block_size,
        .file_id = s->file_id,
        .acl = s->flags & HDFS__FILE_FLAG__HAS_ACL,
        .encrypted = s->encryption || s->flags & HDFS__FILE_FLAG__IS_ENCRYPTED,
        .erasure_coded = s->ec_policy || s->flags & HDFS__FILE_FLAG__IS_ERASURE_CODED,
    };
    return fs_entry_text(ret, path, name, file_status_text_of(s->owner),
                         file_status_text_of(s->group), target);
}
