/* fs_verbs.c - `ydl fs`: files on HDFS and on this machine. */
#include "cmd/fs/verbs.h"
#include "cmd/verbs.h"

static const struct cli_verb *const subs[] = {
    &verb_fs_cat, &verb_fs_chmod, &verb_fs_du, &verb_fs_get,  &verb_fs_ls, &verb_fs_mkdir,
    &verb_fs_mv,  &verb_fs_put,   &verb_fs_rm, &verb_fs_stat, NULL,
};

/* clang-format off */
const struct cli_verb verb_fs = {
    .name = "fs", .summary = "manage files on HDFS and on this machine", .subs = subs,
    .text = "Works with files on HDFS and on this machine. Needs no Java.",
    CLI_EXAMPLES({ "ydl fs put -r mnist /data/", "upload a directory" },
                 { "ydl fs get '/out/part-*' .", "download everything that matches" },
                 { "tar c model | ydl fs put - /models/m.tar", "upload from a pipe" }),
    CLI_SECTIONS(
      { "PATHS",
        "A path without a scheme is on the cluster's default file system (fs.defaultFS); a "
        "relative path starts at your home directory there. The local side of put and get is on "
        "this machine. hdfs://NAMESERVICE/PATH, viewfs://CLUSTER/PATH and file:///PATH are "
        "absolute.\n\n"
        "A path on the cluster may be a pattern; quote it to protect it from the shell:\n\n"
        "*\tAny characters except a slash.\n"
        "?\tAny single character.\n"
        "[a-z], [^a-z]\tOne of these characters, or any other.\n"
        "{ab,cd}\tEither of these.\n"
        "\\*\tThe character itself.\n\n"
        "Erasure-coded files and files in encryption zones cannot be read: they are refused." },
      { "EXIT STATUS",
        "If one of several operands fails, the others are still processed; the first failure "
        "determines the exit status, see ydl(1)." },
      { "JSON OUTPUT",
        "One object with a list, and with the key errors: an object for each failure with the keys "
        "of ydl(1) and operand. The list of each verb:\n\n"
        "ls, stat\tentries: path, type (file, directory, symlink, other), mode in octal, owner, "
        "group, size, replication, block_size, mtime_ms, atime_ms, acl, encrypted, erasure_coded, "
        "target of a symbolic link or null. stat adds uri, file_id, and for a directory files, "
        "directories, bytes, space, quota and space_quota.\n"
        "du\tusage: path, bytes, space (with all replicas), files, directories.\n"
        "put, get\tcopies: source, target, files, bytes, ms.\n"
        "mkdir\tmade: path.\n"
        "rm\tremoved: path.\n"
        "mv\tmoved: source, target.\n"
        "chmod\tchanged: path, mode.\n"
        "cat, get to '-'\tNo JSON: standard output has the content of the files." }),
};
/* clang-format on */
