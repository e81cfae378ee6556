/* deployment_story.h - what people read of updates in the job's events: sentences about what
 * changed from one plan to the next. Pure. */
#pragma once
#include "base/json.h"

#define STORY_MAX 800 /* bytes of a sentence, with its NUL; one line of text */

/* Says each sentence once, in order. What fn returns that is not 0 ends it and is returned. */
int deployment_story(const json_t *before, const json_t *after,
                     int (*fn)(void *arg, const char *text), void *arg);
