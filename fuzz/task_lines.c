/* task_lines.c - what tasks may say to their agent: lines of the key-value store and of PMI-1. */
#include "agent/socket/kvline.h"
#include "agent/socket/pmi_line.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* A word lies in the line, and an answer is exactly one line. */
static void check_kv(const char *line, size_t n)
{
    struct kvline_word words[KVLINE_WORDS];
    AUTO_BUF answer = { .max = 4 * MIB };
    struct err err = ERR_INIT;
    size_t count = 0;
    int r = kvline_parse(line, n, words, &count, &err);

    if (r < 0) {
        if (!err.text[0])
            abort();
        return;
    }
    if (count == 0 || count > KVLINE_WORDS)
        abort();
    for (size_t i = 0; i < count; i++) {
        const char *p = words[i].p;

        if (words[i].n > n || p < line || p + words[i].n > line + n)
            abort();
    }
    if (kvline_answer(words, count, &answer) == 0 &&
        (answer.len == 0 || memchr(answer.data, '\n', answer.len) != answer.data + answer.len - 1))
        abort();
}

static void check_pmi(const char *line)
{
    static const char *const names[] = { "cmd", "key", "value", "kvsname", "exitcode" };
    char out[PMI_VALUE_MAX];

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (pmi_field(line, names[i], out, sizeof(out)) && strlen(out) >= sizeof(out))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *line = malloc(size + 1);

    if (!line || size > 64 * KIB)
        return 0;
    memcpy(line, data, size);
    line[size] = '\0';
    check_kv(line, size);
    check_pmi(line);
    return 0;
}
