/* text.c - words, texts and small files of the stand-in. A process that lives for one command does
 * not give memory back. */
#include "ce.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ce_die(enum ce_code code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("container-executor: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(code);
}

void ce_add(struct ce_words *words, char *word)
{
    /* One place stays free for the NULL that ends an argument list. */
    if (words->n + 1 >= sizeof(words->word) / sizeof(words->word[0]))
        ce_die(CE_BAD_ARGUMENTS, "more than %zu words", words->n);
    words->word[words->n++] = word;
    words->word[words->n] = NULL;
}

void ce_split(struct ce_words *words, char *text, char mark)
{
    const char marks[] = { mark, '\0' };
    char *piece;

    while ((piece = strsep(&text, marks)))
        if (*piece)
            ce_add(words, piece);
}

char *ce_text(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0 || n >= CE_FILE_MAX)
        ce_die(CE_CANNOT_PREPARE, "no room for a text");
    return text;
}

char *ce_read(const char *path, size_t *ret_length)
{
    char *text = calloc(1, CE_FILE_MAX + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;
    size_t have = 0;

    if (!text || fd < 0)
        return NULL;
    while (have < CE_FILE_MAX && (n = read(fd, text + have, CE_FILE_MAX - have)) > 0)
        have += (size_t)n;
    close(fd);
    if (ret_length)
        *ret_length = have;
    if (n == 0)
        return text;
    errno = n > 0 ? EFBIG : errno;
    return NULL;
}
