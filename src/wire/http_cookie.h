/* http_cookie.h - one cookie out of a request's Cookie header: "a=b; proxy-user=al%40x". Pure. */
#pragma once

/* The first cookie of this name, percent-encoding undone ('+' is a space), as Java's URLEncoder
 * writes it. `header` may be NULL. *ret is the caller's, NULL when there is none. -EINVAL for a
 * value with a wrong '%' in it, -ENOMEM. */
int http_cookie(const char *header, const char *name, char **ret);
