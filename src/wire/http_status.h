/* http_status.h - HTTP status codes: their names, and the one that stands for an errno. Pure.
 */
#pragma once

const char *http_status_text(int status); /* "Not Found" */
int http_status_of(int code);             /* a negative errno; 500 when none fits better */
