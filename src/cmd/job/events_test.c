/* events_test.c - what the manual page of `ydl events` says. */
#include "cmd/job/verbs.h"
#include "job/event.h"
#include "test.h"

#include <string.h>

/* A row of the list begins with the names that it is about: "master, container\t…". */
static bool has_row(const char *text, const char *name)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        size_t n;

        line += *line == '\n';
        n = strcspn(line, "\t\n");
        for (const char *at = line; line[n] == '\t' && at < line + n; at += strspn(at, ", ")) {
            size_t word = strcspn(at, ", \t");

            if (word == strlen(name) && memcmp(at, name, word) == 0)
                return true;
            at += word;
        }
    }
    return false;
}

static void the_manual_names_every_event(void **state)
{
    const char *text = verb_events.sections[0].body;

    (void)state;
    assert_false(has_row(text, "seq"));
    for (enum event_kind k = 0; k < EVENT_KINDS_; k++)
        if (!has_row(text, event_name(k)))
            fail_msg("'%s' is not in the list of events", event_name(k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_names_every_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
