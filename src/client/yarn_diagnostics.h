/* yarn_diagnostics.h - what YARN says about an application that it could not run. Pure.
 *
 * Its text is many lines long, most of them Java's stack, the chatter of container-executor and
 * advice to click on links, with the one that matters somewhere between:
 *
 *     Application application_1_0001 failed 2 times due to AM Container for … exited with exitCode:
 *     -1000 Failing this attempt.Diagnostics: [2026-11-16 11:27:48.628]Application … initialization
 *     failed (exitCode=255) with output: main : command provided 0
 *     main : run as user is carol
 *     main : requested yarn user is carol
 *     User carol not found
 *
 *     For more detailed output, check the application tracking page: … */
#pragma once
#include <stddef.h>

#define DIAGNOSTICS_REASON 320

struct diagnostics {
    char reason[DIAGNOSTICS_REASON]; /* the line that says most; "" when there is no text */
    char *lines;      /* all that are of use, each ended by a newline; "": no others */
    const char *hint; /* what to do about it; "" when nobody knows. Static */
};

/* `text` NULL is "". 0 or -ENOMEM; diagnostics_done() after both. */
int diagnostics_read(const char *text, struct diagnostics *ret);
/* Of an application that was killed: was it taken back because its submission failed (SUBMIT_FAILED
 * in launch/job_submission.h)? Then the exit code of that, and `ret->reason` is why; else 0. */
int diagnostics_not_submitted(const char *text, struct diagnostics *ret);
void diagnostics_done(struct diagnostics *d); /* zero is fine */
