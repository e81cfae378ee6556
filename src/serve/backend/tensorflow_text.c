/* tensorflow_text.c - what TensorFlow says of a failure, for people. See tensorflow_private.h. */
#include "base/str.h"
#include "serve/backend/tensorflow_private.h"

#include <ctype.h>
#include <string.h>

#define SENTENCE_MAX 1024
#define ROOTS "root error(s) found."

/* Of several errors the first: behind "  (0) INVALID_ARGUMENT: ". */
static const char *first_error(const char *text)
{
    const char *end = strchr(text, '\n'), *colon;

    if (!end || (size_t)(end - text) < strlen(ROOTS) ||
        strncmp(end - strlen(ROOTS), ROOTS, strlen(ROOTS)) != 0)
        return text;
    colon = strstr(end, ": ");
    return colon ? colon + 2 : end + 1;
}

/* The end of "{{node f}}" that begins here; NULL: none does. */
static const char *behind_node(const char *p)
{
    const char *end = p[0] == '{' && p[1] == '{' ? strstr(p, "}}") : NULL;

    return end ? end + 2 : NULL;
}

const char *tf_sentence(const char *text, char *out, size_t room)
{
    const char *p = first_error(text);
    char line[SENTENCE_MAX];
    size_t n = 0;

    while (*p && *p != '\n' && n + 1 < sizeof(line)) {
        const char *behind = behind_node(p);

        if (behind)
            p = behind;
        else if (!isspace((unsigned char)*p))
            line[n++] = *p++;
        else if (p++, n > 0 && line[n - 1] != ' ')
            line[n++] = ' ';
    }
    while (n > 0 && line[n - 1] == ' ')
        n--;
    line[n] = '\0';
    (void)str_clean(out, room, line);
    return out;
}

static int tf_errno(int code)
{
    switch (code) {
    case TF_INVALID_ARGUMENT:
    case TF_OUT_OF_RANGE:
        return -EINVAL;
    case TF_UNIMPLEMENTED:
        return -EOPNOTSUPP;
    case TF_RESOURCE_EXHAUSTED:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

int tf_check(const struct tf_api *api, const void *status, const char *what, struct err *err)
{
    char text[SENTENCE_MAX];
    int code = api->get_code(status);

    if (code == TF_OK)
        return 0;
    return err_set(err, tf_errno(code), "%s: %s", what,
                   tf_sentence(api->message(status), text, sizeof(text)));
}
