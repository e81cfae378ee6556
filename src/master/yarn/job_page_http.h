/* job_page_http.h - the page that YARN's tracking URL leads to. See job_page_http.c. */
#pragma once
#include "base/err.h"

struct master;

int page_start(struct master *m, struct err *err); /* sets page_url */
void page_find_proxies(struct master *m);          /* until then nobody may look. Fibers only */
void page_stop(struct master *m);
