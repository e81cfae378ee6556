/* slider_files.c - JSON files as people write them, and packages; see slider_files.h. */
#include "cmd/slider/slider_files.h"
#include "base/path.h"
#include "cli/exit.h"
#include "pyenv/unzip.h"

#include <string.h>
#include <sys/stat.h>

#define SHOWN 72  /* columns of a line that are shown, … */
#define BEFORE 60 /* … so many of them before the place */

/* ---- where a file is wrong ---- */

/* A place in a text: lines and columns count from 1. */
struct place {
    size_t at, line, column;
    const char *begin; /* of its line */
    size_t length;
};

static struct place slider_find_place(const char *text, size_t n, size_t at)
{
    struct place p = { .at = at, .line = 1, .begin = text };
    const char *end;

    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            p.line++;
            p.begin = text + i + 1;
        }
    end = memchr(p.begin, '\n', n - (size_t)(p.begin - text));
    p.length = end ? (size_t)(end - p.begin) : n - (size_t)(p.begin - text);
    p.column = at - (size_t)(p.begin - text) + 1;
    return p;
}

/* Where the token begins that the parser stumbled over: it tells where that ended, and mostly what
 * it was. At the end of the file, behind the last thing that is there. */
static size_t token_start(const json_error_t *e, const char *text, size_t n)
{
    size_t at = e->position < 0 ? 0 : (size_t)e->position, len = 0;
    const char *near = strstr(e->text, " near '");

    at = at > n ? n : at;
    if (near) {
        near += strlen(" near '");
        len = strlen(near);
        len -= len > 0 && near[len - 1] == '\'';
    }
    if (len > 0 && len <= at && memcmp(text + at - len, near, len) == 0)
        return at - len;
    while (at > 0 && strchr(" \t\r\n", text[at - 1]))
        at--;
    return at;
}

/* The line, and a mark below the place. What a terminal would not show as one column is blank. */
static int show_place(const struct place *p, struct buf *out)
{
    size_t from = p->column > BEFORE ? p->column - BEFORE : 0, mark = 0;
    int r = buf_add_str(out, "    ");

    for (size_t i = from; r == 0 && i < p->length && i < from + SHOWN; i++) {
        unsigned char c = (unsigned char)p->begin[i];

        if (i + 1 < p->column)
            mark += (c & 0xc0) != 0x80;
        r = buf_add_u8(out, c < ' ' || c == 0x7f ? ' ' : c);
    }
    return r < 0 ? r : buf_printf(out, "\n    %*s^\n", (int)mark, "");
}

static int wrong_place(const char *name, const struct buf *text, size_t at, const char *what,
                       struct buf *excerpt, struct err *err)
{
    const char *p = text->data ? (const char *)text->data : "";
    struct place place = slider_find_place(p, text->len, at);

    if (show_place(&place, excerpt) < 0)
        return err_oom(err);
    return cli_bad(err, "%s:%zu:%zu: %s", name, place.line, place.column, what);
}

/* What is most often wrong with files that were copied from a text. */
static void add_hint(const struct buf *text, struct err *err)
{
    const char *p = (const char *)text->data;
    size_t first = 0, open = 0, closed = 0;
    bool quoted = false;

    while (first < text->len && strchr(" \t\r\n", p[first]))
        first++;
    for (size_t i = 0; i < text->len; i++) {
        if (quoted && p[i] == '\\')
            i++;
        else if (p[i] == '"')
            quoted = !quoted;
        open += !quoted && (p[i] == '{' || p[i] == '[');
        closed += !quoted && (p[i] == '}' || p[i] == ']');
    }
    if (first < text->len && p[first] != '{')
        err_hint(err, "the file must begin with '{'");
    else if (open > closed)
        err_hint(err, "%zu brace%s or bracket%s opened and not closed, at or before this place",
                 open - closed, open - closed == 1 ? "" : "s",
                 open - closed == 1 ? " is" : "s are");
    else if (closed > open)
        err_hint(err, "a '{' or '[' is missing at or before this place");
}

int slider_parse(const char *name, const struct buf *text, struct buf *excerpt, json_t **ret,
                 struct err *err)
{
    const char *p = text->data ? (const char *)text->data : "";
    json_error_t e = { 0 };
    json_t *again;
    int r = json_parse(name, p, text->len, ret, err);

    if (r == 0 && json_is_object(*ret))
        return 0;
    if (r < 0 && r != -EINVAL)
        return r;
    json_decref(*ret);
    *ret = NULL;
    again = json_loadb(p, text->len, JSON_REJECT_DUPLICATES, &e);
    if (again || !e.text[0]) { /* a list, or nested too deep */
        json_decref(again);
        return r < 0 ? (err->code = CLI_USAGE)
                     : wrong_place(name, text, 0, "an object was expected", excerpt, err);
    }
    if (json_error_code(&e) == json_error_out_of_memory)
        return err_oom(err);
    err_clear(err);
    r = wrong_place(name, text, token_start(&e, p, text->len), e.text, excerpt, err);
    if (r == CLI_USAGE)
        add_hint(text, err);
    return r;
}

/* ---- packages ---- */

int slider_package_open(struct slider_package *p, const char *path, struct err *err)
{
    struct stat st;
    int r = 0;

    if (stat(path, &st) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return exit_named_file(err_sys(err, "find '%s'", path), err);
        cli_bad(err, "there is no application definition '%s'", path);
        err_hint(err, "--appdef must name a directory or zip archive that contains metainfo.json");
        return CLI_USAGE;
    }
    p->path = realpath(path, NULL);
    if (!p->path)
        return err_sys(err, "find '%s'", path);
    if (!S_ISDIR(st.st_mode))
        r = unzip_open(path, &p->zip, err);
    if (r == -EINVAL || r == -EOPNOTSUPP)
        r = err->code = CLI_USAGE;
    return r;
}

void slider_package_done(struct slider_package *p)
{
    p->zip = unzip_close(p->zip);
    free(p->path);
    p->path = NULL;
}

bool slider_package_has(const struct slider_package *p, const char *name)
{
    AUTO_FREE char *path = p->zip ? NULL : path_join(p->path, name);

    if (p->zip)
        return unzip_has(p->zip, name);
    return path && access(path, F_OK) == 0;
}

/* A file of it; 0, -ENOENT, or another failure. */
static int slider_package_read(struct slider_package *p, const char *name, struct buf *ret,
                               struct err *err)
{
    AUTO_FREE char *path = p->zip ? NULL : path_join(p->path, name);

    if (p->zip)
        return unzip_read(p->zip, name, ret, err);
    return path ? path_read(path, ret, err) : err_oom(err);
}

int slider_file(const char *path, struct slider_package *p, struct buf *excerpt, json_t **ret,
                struct err *err)
{
    AUTO_BUF text = { .max = SLIDER_FILE_MAX };
    int r;

    if (access(path, F_OK) == 0) {
        r = path_read(path, &text, err);
    } else if (p && slider_package_has(p, path)) {
        r = slider_package_read(p, path, &text, err);
    } else {
        cli_bad(err, "there is no file '%s'", path);
        if (p)
            err_hint(err, "it is neither in the current directory nor in '%s'", p->path);
        return CLI_USAGE;
    }
    return r < 0 ? exit_named_file(r, err) : slider_parse(path, &text, excerpt, ret, err);
}
