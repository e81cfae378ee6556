/* yarn_publish.h - hooks of struct master_ops for publishing a model. */
#pragma once
#include "base/err.h"

struct fs_set;
struct master;
struct spec_file;

int yarn_result_place(struct master *m, const struct spec_file *f, char **ret, struct err *err);
int yarn_files_open(struct master *m, const char *uri, struct fs_set **ret, struct err *err);
void yarn_files_close(struct master *m, struct fs_set *set);
int yarn_alone(struct master *m, struct err *err);
