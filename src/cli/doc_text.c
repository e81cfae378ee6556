/* doc_text.c - a JSON document for people. What --json prints is made first and once; the text is
 * made of it by templates, so that the two cannot disagree. See doc.h.
 *
 * The functions for single values append nothing where there is nothing to show. */
#include "base/str.h"
#include "cli/doc.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

static int put_plain(const json_t *v, struct buf *out)
{
    int r = 0;

    if (json_is_integer(v))
        return buf_printf(out, "%lld", (long long)json_integer_value(v));
    if (json_is_string(v))
        return buf_add_str(out, json_string_value(v));
    for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
        r = i ? buf_add_u8(out, ',') : 0;
        if (r == 0)
            r = put_plain(json_array_get(v, i), out);
    }
    return r;
}

static int put_lower(const json_t *v, struct buf *out)
{
    size_t from = out->len;
    int r = put_plain(v, out);

    for (; from < out->len; from++)
        out->data[from] = (uint8_t)tolower(out->data[from]);
    return r;
}

/* YARN writes N/A for what it does not know. */
static int put_known(const json_t *v, struct buf *out)
{
    return str_eq(json_string_value(v), "N/A") ? 0 : put_plain(v, out);
}

static int put_bytes(const json_t *v, json_int_t unit, struct buf *out)
{
    char text[STR_SIZE_MAX];
    json_int_t n = json_integer_value(v);

    n = n < 0 ? 0 : n > INT64_MAX / unit ? INT64_MAX : n * unit;
    return json_is_integer(v) ? buf_add_str(out, str_size((uint64_t)n, text)) : 0;
}

static int put_size(const json_t *v, struct buf *out)
{
    return put_bytes(v, 1, out);
}

static int put_megabytes(const json_t *v, struct buf *out)
{
    return put_bytes(v, (json_int_t)MIB, out);
}

const char *doc_when(int64_t ms, char out[DOC_WHEN])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;

    if (ms <= 0 || !localtime_r(&seconds, &tm) ||
        strftime(out, DOC_WHEN, "%Y-%m-%d %H:%M", &tm) == 0)
        snprintf(out, DOC_WHEN, "-");
    return out;
}

static int put_when(const json_t *v, struct buf *out)
{
    char text[DOC_WHEN];

    return json_is_null(v) ? 0 : buf_add_str(out, doc_when(json_integer_value(v), text));
}

static int put_percent(const json_t *v, struct buf *out)
{
    return json_is_number(v) ? buf_printf(out, "%.1f %%", json_number_value(v)) : 0;
}

static int put_share(const json_t *v, struct buf *out)
{
    return json_is_number(v) ? buf_printf(out, "%.0f %%", json_number_value(v) * 100) : 0;
}

static const struct {
    const char *name;
    int (*put)(const json_t *v, struct buf *out);
} forms[] = {
    { "", put_plain },           { "|lower", put_lower },  { "|known", put_known },
    { "|size", put_size },       { "|mb", put_megabytes }, { "|when", put_when },
    { "|percent", put_percent }, { "|share", put_share },
};

/* One "key.key|form" of `n` bytes. */
static int put_value(const json_t *v, const char *at, size_t n, struct buf *out)
{
    const char *end = at + n, *form = memchr(at, '|', n);
    size_t len;

    for (form = form ? form : end; at < form; at += len + 1) {
        const char *dot = memchr(at, '.', (size_t)(form - at));

        len = (size_t)((dot ? dot : form) - at);
        v = json_object_getn(v, at, len);
    }
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (strlen(forms[i].name) == (size_t)(end - form) &&
            memcmp(forms[i].name, form, (size_t)(end - form)) == 0)
            return forms[i].put(v, out);
    return -EINVAL;
}

int doc_text(const json_t *doc, const char *template, struct buf *out)
{
    int r = 0;

    while (r == 0 && *template) {
        size_t n = strcspn(template, "{"), before = out->len + n;

        r = buf_add(out, template, n);
        template += n;
        if (r < 0 || !*template)
            break;
        n = strcspn(template, "}");
        r = put_value(doc, template + 1, n - 1, out);
        template += n + 1;
        if (r == 0 && out->len == before)
            return 0;
    }
    return r < 0 ? r : 1;
}

static int doc_value(const json_t *v, const struct table_column *c, struct buf *out)
{
    int r = c->put ? c->put(v, out) : doc_text(v, c->text, out);

    return r < 0 || !c->put ? r : 1;
}

int doc_row(struct table *t, const json_t *v, struct err *err)
{
    for (size_t i = t->cells.n % t->n; i < t->n; i++) {
        AUTO_BUF text = { .max = MIB };
        int r = doc_value(v, &t->columns[i], &text);

        if (r < 0 || !buf_text(&text))
            return err_oom(err);
        table_cell(t, "%s", r == 1 ? buf_text(&text) : "-");
    }
    return 0;
}

int doc_table(const json_t *list, const struct table_column *columns, size_t n, struct err *err)
{
    AUTO_TABLE t = { 0 };

    table_begin(&t, stdout, columns, n);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (doc_row(&t, json_array_get(list, i), err) < 0)
            return -ENOMEM;
    return table_end(&t, err);
}

/* "label  text"; lines after the first have no label. */
static int sheet_line(const struct doc_layout *l, const char *label, const char *text,
                      struct err *err)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        AUTO_FREE char *one = strndup(text, n), *clean = malloc(4 * n + 1);

        if (!one || !clean)
            return err_oom(err);
        str_clean(clean, 4 * n + 1, one);
        if (n) {
            printf("%*s%-*s %s\n", l->indent, "", l->width, label, clean);
            label = "";
        }
        text += n + (text[n] == '\n');
    }
    return 0;
}

int doc_sheet(const json_t *doc, const struct doc_layout *l, const struct table_column *lines,
              size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF text = { .max = MIB };
        int r = doc_value(doc, &lines[i], &text);

        if (r < 0 || !buf_text(&text))
            return err_oom(err);
        r = r == 1 ? sheet_line(l, lines[i].title, buf_text(&text), err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}
