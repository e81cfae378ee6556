/* xml.c - see xml.h.
 *
 * Hadoop reads these files with a small state machine over element names and so do we, because
 * files that rely on its leniency exist: elements count wherever they stand, a comment inside a
 * value splits nothing, an empty value is no value, and only a name is trimmed. We are stricter in
 * two things: the root must be <configuration> (a saved login page is not a configuration), and
 * the content of an unused <xi:fallback> is not looked at. */
#include "hadoop/conf/xml.h"
#include "base/buf.h"
#include "base/str.h"

#include <expat.h>
#include <string.h>

#define NEST_MAX 64           /* elements in elements */
#define INCLUDE_NEST 8        /* includes inside fallbacks of includes */
#define TOTAL_MAX (64u << 20) /* characters of one file once its entities are expanded */

struct include {
    bool found, fallback;
    char *href; /* what was not found, and where it was asked for */
    int line;
};

struct state {
    XML_Parser parser;
    const char *file;
    const struct xml_reader *out;
    struct err *err;
    int r; /* set once, ends everything */

    struct buf text; /* of the element that collects */
    bool collecting;
    size_t total;

    char *name, *value;
    bool final;
    int line;

    int depth;
    int skip_from; /* depth of the unused fallback that we are in, 0 for none */
    struct include includes[INCLUDE_NEST];
    int n_includes;
};

/* The first failure counts. Expat may still call handlers after XML_StopParser(), so each of them
 * looks at s->r first. */
static void fail(struct state *s, int r)
{
    if (s->r == 0)
        s->r = r;
    (void)XML_StopParser(s->parser, XML_FALSE);
}

static int xml_line_of(const struct state *s)
{
    return (int)XML_GetCurrentLineNumber(s->parser);
}

/* An error at the place where the parser is. `what` is a sentence, `value` goes into quotes. */
static void fail_at(struct state *s, int code, const char *what, const char *value)
{
    fail(s, err_set(s->err, code, "%s:%d:%d: %s%s%s%s", s->file, xml_line_of(s),
                    (int)XML_GetCurrentColumnNumber(s->parser) + 1, what, value ? " '" : "",
                    value ? value : "", value ? "'" : ""));
}

static void fail_oom(struct state *s)
{
    fail(s, err_oom(s->err));
}

/* Names come as "uri local" where they have a namespace: the prefix does not matter to Hadoop. */
static const char *local_name(const char *name)
{
    const char *space = strrchr(name, ' ');

    return space ? space + 1 : name;
}

static bool xml_set_text(struct state *s, char **where, const char *value)
{
    char *copy = strdup(value);

    if (!copy) {
        fail_oom(s);
        return false;
    }
    free(*where);
    *where = copy;
    return true;
}

static void clear_property(struct state *s)
{
    free(s->name);
    free(s->value);
    s->name = s->value = NULL;
    s->final = false;
    s->line = xml_line_of(s);
}

/* The short form: <property name="a" value="b" final="true"/>. */
static void start_property(struct state *s, const char **atts)
{
    clear_property(s);
    for (; *atts && s->r == 0; atts += 2) {
        const char *att = local_name(atts[0]);

        if (str_eq(att, "name"))
            xml_set_text(s, &s->name, atts[1]);
        else if (str_eq(att, "value"))
            xml_set_text(s, &s->value, atts[1]);
        else if (str_eq(att, "final"))
            s->final = str_eq(atts[1], "true");
    }
}

static void start_include(struct state *s, const char **atts)
{
    struct include *inc;
    const char *href = NULL;
    int r;

    if (s->n_includes == INCLUDE_NEST) {
        fail_at(s, -E2BIG, "includes are nested too deep", NULL);
        return;
    }
    inc = &s->includes[s->n_includes++];
    *inc = (struct include){ .found = true, .line = xml_line_of(s) };
    for (; *atts; atts += 2)
        if (str_eq(local_name(atts[0]), "href"))
            href = atts[1];
    if (!href)
        return; /* Hadoop passes over it, too */
    r = s->out->on_include(s->out->arg, href, xml_line_of(s), &inc->found, s->err);
    if (r < 0)
        fail(s, r);
    else if (!inc->found)
        xml_set_text(s, &inc->href, href);
}

static void end_include(struct state *s)
{
    struct include *inc = &s->includes[--s->n_includes];

    if (!inc->found && !inc->fallback)
        fail(s, err_set(s->err, -ENOENT,
                        "%s:%d: there is no file, and no fallback, for the included '%s'", s->file,
                        inc->line, inc->href ? inc->href : ""));
    free(inc->href);
    inc->href = NULL;
}

/* An include that was found makes its fallback unused: everything in it is skipped by depth, up to
 * its own end. */
static void start_fallback(struct state *s)
{
    struct include *inc;

    if (s->n_includes == 0)
        return;
    inc = &s->includes[s->n_includes - 1];
    inc->fallback = true;
    if (inc->found)
        s->skip_from = s->depth;
}

static const char *const collected[] = { "name", "value", "final", "source", "tag" };

static void xml_on_start(void *arg, const char *element, const char **atts)
{
    struct state *s = arg;
    const char *e = local_name(element);

    if (s->r)
        return;
    if (++s->depth > NEST_MAX) {
        fail_at(s, -E2BIG, "elements are nested too deep", NULL);
        return;
    }
    if (s->depth == 1 && !str_eq(e, "configuration")) {
        fail_at(s, -EBADMSG, "this is not a Hadoop configuration: its root element is", e);
        return;
    }
    if (s->skip_from)
        return;
    if (str_eq(e, "property"))
        start_property(s, atts);
    else if (str_eq(e, "include"))
        start_include(s, atts);
    else if (str_eq(e, "fallback"))
        start_fallback(s);
    for (size_t i = 0; i < COUNT_OF(collected); i++)
        if (str_eq(e, collected[i])) {
            s->collecting = true;
            buf_reset(&s->text);
            if (str_eq(e, "value"))
                s->line = xml_line_of(s);
        }
}

/* Java's trim(): everything up to the space goes. */
static char *xml_trimmed(const char *text)
{
    size_t n;

    while (*text && (unsigned char)*text <= ' ')
        text++;
    for (n = strlen(text); n > 0 && (unsigned char)text[n - 1] <= ' '; n--)
        ;
    return strndup(text, n);
}

static void end_name(struct state *s, const char *text)
{
    AUTO_FREE char *name = xml_trimmed(text);

    if (!name)
        fail_oom(s);
    else
        xml_set_text(s, &s->name, name);
}

/* A property counts when it ends, because its name, value and final may come in any order. The last
 * of several values wins. */
static void end_property(struct state *s)
{
    struct xml_property p = { s->name, s->value, s->final, s->line };
    int r;

    if (!p.name || !*p.name)
        return;
    r = s->out->on_property(s->out->arg, &p, s->err);
    if (r < 0)
        fail(s, r);
    /* The name is used up: a stray </property> cannot add it again. */
    clear_property(s);
}

static void end_element(struct state *s, const char *e)
{
    const char *text = buf_text(&s->text);

    if (!text)
        fail_oom(s);
    else if (str_eq(e, "name") && *text)
        end_name(s, text);
    else if (str_eq(e, "value") && *text)
        xml_set_text(s, &s->value, text);
    else if (str_eq(e, "final"))
        s->final = str_eq(text, "true");
    else if (str_eq(e, "property"))
        end_property(s);
    else if (str_eq(e, "include"))
        end_include(s);
}

static void xml_on_end(void *arg, const char *element)
{
    struct state *s = arg;

    if (s->r)
        return;
    if (!s->skip_from)
        end_element(s, local_name(element));
    if (s->depth == s->skip_from)
        s->skip_from = 0;
    s->depth--;
}

/* Expat hands over text in pieces: an entity or a line end begins a new one. */
static void on_text(void *arg, const char *text, int n)
{
    struct state *s = arg;
    int r;

    if (s->r)
        return;
    s->total += (size_t)n;
    if (s->total > TOTAL_MAX) {
        fail_at(s, -E2BIG, "the file is too large once its entities are expanded", NULL);
        return;
    }
    if (!s->collecting || s->skip_from)
        return;
    r = buf_add(&s->text, text, (size_t)n);
    if (r == -E2BIG)
        fail_at(s, r, "a value is longer than 1 MiB", NULL);
    else if (r < 0)
        fail_oom(s);
}

static int on_external(XML_Parser parser, const char *context, const char *base,
                       const char *system_id, const char *public_id)
{
    (void)parser, (void)context, (void)base, (void)system_id, (void)public_id;
    return XML_STATUS_ERROR; /* shown by parse_error() */
}

static void on_skipped(void *arg, const char *entity, int is_parameter)
{
    struct state *s = arg;

    if (s->r == 0 && !is_parameter)
        fail_at(s, -EBADMSG, "undefined entity", entity);
}

static int parse_error(struct state *s)
{
    enum XML_Error e = XML_GetErrorCode(s->parser);

    if (s->r)
        return s->r;
    if (e == XML_ERROR_NO_MEMORY)
        fail_oom(s);
    else if (e == XML_ERROR_EXTERNAL_ENTITY_HANDLING)
        fail_at(s, -EBADMSG, "external entities are refused", NULL);
    else
        fail_at(s, -EBADMSG, XML_ErrorString(e), NULL);
    return s->r;
}

/* No entity from outside is ever loaded: a configuration file must not read other files, or the
 * network. */
static int xml_parse(struct state *s, const void *p, size_t n)
{
    XML_SetUserData(s->parser, s);
    XML_SetElementHandler(s->parser, xml_on_start, xml_on_end);
    XML_SetCharacterDataHandler(s->parser, on_text);
    XML_SetExternalEntityRefHandler(s->parser, on_external);
    XML_SetSkippedEntityHandler(s->parser, on_skipped);
    if (XML_Parse(s->parser, p, (int)n, 1) != XML_STATUS_OK)
        return parse_error(s);
    return s->r;
}

int xml_read(const char *file, const void *p, size_t n, const struct xml_reader *reader,
             struct err *err)
{
    struct state s = { .file = file, .out = reader, .err = err };
    int r;

    if (n > XML_FILE_MAX)
        return err_set(err, -E2BIG, "%s: larger than 16 MiB", file);
    s.parser = XML_ParserCreateNS(NULL, ' ');
    if (!s.parser)
        return err_oom(err);
    buf_init(&s.text, XML_TEXT_MAX);
    r = xml_parse(&s, p, n);
    XML_ParserFree(s.parser);
    buf_done(&s.text);
    for (int i = 0; i < s.n_includes; i++)
        free(s.includes[i].href);
    free(s.name);
    free(s.value);
    return r;
}
