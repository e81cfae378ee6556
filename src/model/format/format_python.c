/* format_python.c - a Python handler: a directory with model.py that has load(dir) and
 * predict(inputs).
 *
 * Whether it has them is read from its text, line by line: nothing is run. They may be defined,
 * assigned or imported at the top of the file. */
#include "model/format/recognise.h"

#include <ctype.h>
#include <string.h>

#define FILE_NAME "model.py"
#define TEXT_MOST (4 * MIB)

static bool python_word_at(const char *line, const char *end, const char *p, size_t n)
{
    return (p == line || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')) &&
           (p + n == end || (!isalnum((unsigned char)p[n]) && p[n] != '_'));
}

static bool python_has_word(const char *line, const char *end, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = line; (p = memmem(p, (size_t)(end - p), word, n)); p++)
        if (python_word_at(line, end, p, n))
            return true;
    return false;
}

/* Does this line, which is not indented, give `name` a value? */
static bool python_binds(const char *line, const char *end, const char *name)
{
    static const char *const starts[] = { "def ", "async def ", "from ", "import " };
    size_t n = strlen(name);

    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (str_starts(line, starts[i]))
            return python_has_word(line, end, name);
    if ((size_t)(end - line) <= n || memcmp(line, name, n) != 0)
        return false;
    line += n;
    while (line < end && *line == ' ')
        line++;
    return line < end && (*line == '=' || *line == ':');
}

static bool python_defines(const char *text, const char *name)
{
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n');

        if (python_binds(line, end, name))
            return true;
        line = *end ? end + 1 : end;
    }
    return false;
}

static int python_check(const char *text, struct err *err)
{
    static const char *const names[] = { "load", "predict" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (python_defines(text, names[i]))
            continue;
        err_set(err, -EINVAL, "'" FILE_NAME "' does not define %s()", names[i]);
        err_hint(err, "a handler has load(dir), which returns the model, and predict(inputs)");
        return -EINVAL;
    }
    return 0;
}

int python_look(const struct format_tree *t, struct format_facts *ret, struct err *err)
{
    size_t file = format_file_at(t, FILE_NAME);
    bool needs = format_file_at(t, "requirements.txt") < t->n;
    AUTO_BUF text = { .max = TEXT_MOST + 1 };
    int r;

    if (file == t->n)
        return 0;
    r = format_head(t, file, TEXT_MOST, &text, err);
    if (r == 0)
        r = python_check((const char *)text.data, err);
    if (r == 0)
        r = json_make(&ret->framework, err, "{s:s, s:o}", "name", "python", "requirements",
                      needs ? json_string("requirements.txt") : json_null());
    if (r == 0 && !(ret->entry = strdup(FILE_NAME)))
        r = err_oom(err);
    return r < 0 ? r : 1;
}
