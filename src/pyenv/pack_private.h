/* pack_private.h - what the files of pack.h share. */
#pragma once
#include "pyenv/pack.h"

/* Sorts the list and takes out what stands twice in it: the first of one name stays. */
int pack_settle(struct pack_list *l, struct err *err);
