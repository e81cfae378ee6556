/* fs_verbs.c - `ydl fs`: files on HDFS and on this machine. */
#include "cmd/fs/verbs.h"
#include "cmd/verbs.h"

static const struct cli_verb *const subs[] = {
    &verb_fs_cat, &verb_fs_chmod, &verb_fs_du, &verb_fs_get,  &verb_fs_ls, &verb_fs_mkdir,
    &verb_fs_mv,  &verb_fs_put,   &verb_fs_rm, &verb_fs_stat, NULL,
};

static const struct cli_example examples[] = {
    { "ydl fs put -r mnist /data/", "upload a directory" },
    { "ydl fs get '/out/part-*' .", "fetch everything that matches" },
    { "tar c model | ydl fs put - /models/m.tar", "upload what a pipe delivers" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "PATHS",
      "A path without a scheme is on the cluster's default file system (fs.defaultFS), and a\n"
      "relative one begins in the home directory there; but the local side of put and get is on\n"
      "this machine. hdfs://NAMESERVICE/PATH, viewfs://CLUSTER/PATH and file:///PATH name the\n"
      "place outright.\n\n"
      "A path on the cluster may be a pattern; put it in quotes to keep the shell away from it:\n\n"
      "*\tAny run of characters but a slash.\n"
      "?\tAny one character.\n"
      "[a-z], [^a-z]\tOne of these characters, or none of them.\n"
      "{ab,cd}\tEither.\n"
      "\\*\tThe character itself.\n\n"
      "The content of erasure-coded files and of files in encryption zones cannot be read; they\n"
      "are refused, never read wrongly." },
    { "EXIT STATUS",
      "With several operands each is worked through, whatever happened to the others, and the\n"
      "first failure gives the exit status; see ydl(1) for the codes." },
    { "JSON OUTPUT",
      "One object with a list and the key errors, which holds an object for each failure: those\n"
      "of ydl(1) and operand. The list of each verb:\n\n"
      "ls, stat\tentries: path, type (file, directory, symlink, other), mode in octal, owner,\n"
      "group, size, replication, block_size, mtime_ms, atime_ms, acl, encrypted, erasure_coded,\n"
      "target of a symbolic link or null. stat adds uri, file_id, and for a directory\n"
      "files, directories, bytes, space, quota and space_quota.\n"
      "du\tusage: path, bytes, space (with all replicas), files, directories.\n"
      "put, get\tcopies: source, target, files, bytes, ms.\n"
      "mkdir\tmade: path.\n"
      "rm\tremoved: path.\n"
      "mv\tmoved: source, target.\n"
      "chmod\tchanged: path, mode.\n"
      "cat, get to '-'\tNothing: standard output is the files'." },
    { 0 },
};

const struct cli_verb verb_fs = {
    .name = "fs",
    .summary = "files on HDFS and on this machine",
    .text = "Works with files on HDFS and on this machine, without a Java machine.",
    .subs = subs,
    .examples = examples,
    .sections = sections,
};
