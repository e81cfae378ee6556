/* replay_test.c - see replay.h: where a stream goes on whose files are all that is left. */
#include "client/client_files_testing.h"
#include "client/earlier_output.h"
#include "follow/replay.h"

#include <stdio.h>
#include <sys/stat.h>

struct stage {
    const char *dir;
    struct loop *loop;
    struct replay_place out, err; /* of worker:0 */
    struct show *followed;        /* shows it, and knows the place itself; NULL: one of its own */
    bool runs;                    /* what is saved is of earlier agents */
    bool whole;                   /* all that there was to send has come */
    uint64_t hidden;              /* bytes that nobody wants to see */
    bool last;                    /* its file is the task's last one */
    struct buf seen;
};

static int see(void *user, enum piece_stream stream, const void *p, size_t n)
{
    struct stage *s = user;

    (void)stream;
    return buf_add(&s->seen, p, n);
}

static struct replay_place place_of(void *user, const struct logfile *first)
{
    const struct stage *s = user;

    if (!str_eq(first->task, "worker:0"))
        return (struct replay_place){ .at = UINT64_MAX };
    if (s->followed && !s->runs)
        return (struct replay_place){ show_offset(s->followed, "worker:0", first->stream),
                                      show_file(s->followed, "worker:0", first->stream), s->hidden,
                                      s->last };
    return first->stream == PIECE_ERR ? s->err : s->out;
}

static int play(void *arg)
{
    struct stage *s = arg;
    const struct replay_from from = { place_of, s };
    const struct show_options o = { .sink = see, .user = s };
    AUTO(screen) struct screen *screen = NULL;
    AUTO(show) struct show *show = NULL;
    AUTO_FS_SET *set = NULL;
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;

    assert_int_equal(logfiles_list(local_files(&set), s->dir, NULL, &files, &err), 0);
    assert_int_equal(screen_new(&(struct screen_options){ .loop = s->loop }, &screen, &err), 0);
    assert_int_equal(show_new(&o, &show), 0);
    if (s->runs) {
        assert_int_equal(earlier_keep(NULL, NULL, &files, &err), 0);
        assert_int_equal(replay_earlier(&files, &from, s->followed, screen, &err), 0);
        return screen_end(screen, LOOP_NEVER, &err);
    }
    if (s->followed)
        show_resume(s->followed);
    assert_int_equal(
        replay_rest(&files, &from, s->whole, s->followed ? s->followed : show, screen, &err), 0);
    assert_int_equal(show_end(s->followed ? s->followed : show, 0), 0);
    return screen_end(screen, LOOP_NEVER, &err);
}

static void assert_played(struct stage *s, const char *wanted)
{
    struct err err = ERR_INIT;

    buf_init(&s->seen, MIB);
    assert_int_equal(loop_new(&s->loop, &err), 0);
    assert_int_equal(loop_run(s->loop, play, s, false), 0);
    s->loop = loop_free(s->loop);
    assert_int_equal(s->seen.len, strlen(wanted));
    assert_memory_equal(s->seen.data ? s->seen.data : (uint8_t *)"", wanted, strlen(wanted));
    buf_done(&s->seen);
}

/* A task that was on three machines: "one two" and "three" were saved by those before. */
static void put_parts(const char *dir)
{
    put(dir, "worker-0.1.out", "one\ntwo\n");
    put(dir, "worker-0.2.out", "three\n");
    put(dir, "worker-0.out", "four\nfive\n");
    put(dir, "worker-0.err", "bad\nworse\n");
    put(dir, "worker-1.out", "somebody else's\n");
}

static void parts_go_on_where_they_stopped(void **state)
{
    static const struct {
        uint64_t at;
        const char *wanted;
    } rows[] = {
        { 0, "one\ntwo\nthree\nfour\nfive\n" },
        { 4, "two\nthree\nfour\nfive\n" }, /* in the middle of one */
        { 8, "three\nfour\nfive\n" },      /* between two */
        { 14, "four\nfive\n" },
        { 19, "five\n" },
        { 24, "" },
        { 1000, "" }, /* beyond */
        { UINT64_MAX, "" },
    };

    put_parts(*state);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stage s = { .dir = *state, .out = { .at = rows[i].at }, .err = { UINT64_MAX, 0 } };

        assert_played(&s, rows[i].wanted);
        if (rows[i].at < 19)
            continue;
        s.out.file = 14; /* as it is: that changes nothing */
        assert_played(&s, rows[i].wanted);
    }
}

static void each_stream_has_a_place_of_its_own(void **state)
{
    struct stage s = { .dir = *state, .out = { .at = 19 }, .err = { .at = 4 } };

    put_parts(*state);
    assert_played(&s, "five\nworse\n");
}

/* The file that was followed became an earlier one, and nobody saw the last. */
static void a_file_that_nobody_followed_is_shown_whole(void **state)
{
    struct stage s = { .dir = *state, .out = { .at = 12, .file = 8 }, .err = { UINT64_MAX, 0 } };

    put_parts(*state);
    assert_played(&s, "e\nfour\nfive\n");
}

static void what_was_never_saved_takes_nothing_from_the_rest(void **state)
{
    struct stage s = { .dir = *state, .err = { UINT64_MAX, 0 } };

    put(*state, "worker-0.out", "four\nfive\n");
    s.out = (struct replay_place){ .at = 1005, .file = 1000 }; /* more than there is */
    assert_played(&s, "five\n");
    s.out = (struct replay_place){ .at = 8, .file = 3 }; /* less */
    assert_played(&s, "five\n");
    s.out = (struct replay_place){ .at = 1000, .file = 1000 };
    assert_played(&s, "four\nfive\n");
    s.out = (struct replay_place){ .at = 1010, .file = 1000 };
    assert_played(&s, "");
    put(*state, "worker-0.1.out", "one\ntwo\n"); /* one of two earlier ones was saved */
    s.out = (struct replay_place){ .at = 1005, .file = 1000 };
    assert_played(&s, "five\n");
}

static int see_nothing(void *user, enum piece_stream stream, const void *p, size_t n)
{
    struct stage *s = user;

    return s->seen.max ? see(user, stream, p, n) : 0;
}

/* As who follows a job sees it: all of a file that is lost, and some of the next. */
static void who_followed_sees_every_line_once(void **state)
{
    struct stage s = { .dir = *state };
    const struct show_options o = { .sink = see_nothing, .user = &s };
    AUTO(show) struct show *show = NULL;
    struct piece p = { .kind = PIECE_OUTPUT, .task = "worker:0", .data = "gone\ngone\n", .n = 10 };

    put(*state, "worker-0.out", "four\nfive\n");
    assert_int_equal(show_new(&o, &show), 0);
    assert_int_equal(show_piece(show, &p, 0), 0);
    p = (struct piece){ .kind = PIECE_OUTPUT, .task = "worker:0", .data = "four\n", .n = 5 };
    p.offset = 10;
    p.began = 2;
    assert_int_equal(show_piece(show, &p, 0), 0);
    s.followed = show;
    assert_played(&s, "five\n");
    assert_int_equal(show_offset(show, "worker:0", PIECE_OUT), 20);
}

static void rename_file(const char *dir, const char *from, const char *to)
{
    AUTO_FREE char *a = path_join(dir, from), *b = path_join(dir, to);

    assert_true(a && b);
    assert_int_equal(rename(a, b), 0);
}

static void remove_file(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);

    assert_non_null(path);
    assert_int_equal(remove(path), 0);
}

/* Its master saw 5 of the 14 bytes that were saved, or more than these, and says so; then no more
 * comes. */
static void who_begins_after_a_move_sees_every_line_once(void **state)
{
    static const struct {
        uint64_t skip, offset; /* offset: of the piece; 0: none comes */
        const char *earlier, *rest;
    } rows[] = {
        { 0, 5, "one\ntwo\nthree\n", "five\n" },
        { 8, 99, "three\n", "five\n" },
        { 14, 14, "", "five\n" },
        { 0, 0, "one\ntwo\nthree\n", "four\nfive\n" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stage s = { .dir = *state, .runs = true, .out = { .at = rows[i].skip } };
        const struct show_options o = { .sink = see_nothing, .user = &s };
        AUTO(show) struct show *show = NULL;
        struct piece p = { .kind = PIECE_OUTPUT, .task = "worker:0", .data = "four\n", .n = 5 };

        put_parts(*state);
        rename_file(*state, "worker-0.2.out", "worker-0.out");
        assert_int_equal(show_new(&o, &show), 0);
        s.followed = show;
        s.err.at = UINT64_MAX;
        assert_played(&s, rows[i].earlier);
        s.seen.max = 0;
        p.offset = rows[i].offset;
        p.began = 3;
        if (p.offset > 0)
            assert_int_equal(show_piece(show, &p, 0), 0);
        put_parts(*state);
        remove_file(*state, "worker-0.err");
        s.runs = false;
        assert_played(&s, rows[i].rest);
    }
}

static uint64_t number_of(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct stat st;

    assert_non_null(path);
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static void show_text(struct show *show, const char *text, uint64_t offset, uint64_t saved)
{
    struct piece p = { .kind = PIECE_OUTPUT, .task = "worker:0", .data = text, .n = strlen(text) };

    p.offset = offset;
    p.began = 2;
    p.saved = saved;
    assert_int_equal(show_piece(show, &p, 0), 0);
}

/* The agent that saved "three" was killed. While the next one in its container was not there, it
 * was shown as a file of its own; then the next one sends it again, with what follows. The
 * connection breaks here and there, and another master sends all of it once more. */
static void what_the_next_agent_in_the_container_sends_again_is_shown_once(void **state)
{
    static const uint64_t rows[] = { 0, 5, 8, 99 }; /* where the master has the file begin */

    for (size_t i = 0; i < COUNT_OF(rows) * 2; i++) {
        struct stage s = { .dir = *state, .runs = true, .err = { UINT64_MAX, 0 } };
        const struct show_options o = { .sink = see_nothing, .user = &s };
        AUTO(show) struct show *show = NULL;
        uint64_t at = rows[i / 2], saved;

        put_parts(*state);
        rename_file(*state, "worker-0.2.out", "worker-0.out");
        saved = number_of(*state, "worker-0.out");
        assert_int_equal(show_new(&o, &show), 0);
        s.followed = show;
        assert_played(&s, "one\ntwo\nthree\n");
        buf_init(&s.seen, MIB);
        show_text(show, "thr", at, saved);
        assert_int_equal(show_offset(show, "worker:0", PIECE_OUT), 14);
        assert_int_equal(show_file(show, "worker:0", PIECE_OUT), 8);
        if (i % 2) {
            show_resume(show);
            show_text(show, "thr", at, saved);
        }
        show_text(show, "ee\nfour\n", at + 3, saved);
        assert_string_equal(buf_text(&s.seen), "four\n");
        assert_int_equal(show_offset(show, "worker:0", PIECE_OUT), 19);
        buf_done(&s.seen);
        s.seen.max = 0;
        put(*state, "worker-0.out", "three\nfour\nfive\n");
        remove_file(*state, "worker-0.err");
        s.runs = false;
        assert_played(&s, "five\n");
    }
}

/* Agents had left when the reader came, or before they had sent all that they saved: what stands in
 * their files is shown at the end. */
static void what_an_agent_sent_to_nobody_is_shown_at_the_end(void **state)
{
    static const struct {
        const char *files[3]; /* worker-0.1.out, worker-0.2.out, worker-0.out */
        const char *seen[3];  /* of each of them; the next one begins … */
        uint64_t at[3];       /* … here, as its master says */
        uint64_t hidden;
        const char *wanted;
    } rows[] = {
        { { "one\ntwo\n", NULL, "four\n" },
          { NULL, NULL, "four\n" },
          { 0, 0, 8 },
          0,
          "one\ntwo\n" },
        { { "one\ntwo\n", NULL, "four\n" }, { NULL, NULL, "four\n" }, { 0, 0, 8 }, 4, "two\n" },
        { { "one\ntwo\n", NULL, "four\n" }, { "one\n", NULL, "four\n" }, { 0, 0, 8 }, 0, "two\n" },
        { { "one\ntwo\n", NULL, "four\n" }, { "one\n", NULL, "four\n" }, { 0, 0, 4 }, 0, "two\n" },
        { { "one\n", "two\n", "four\n" }, { NULL, NULL, "four\n" }, { 0, 0, 8 }, 0, "one\ntwo\n" },
        { { "one\n", "two\n", "four\n" }, { "one\n", NULL, "four\n" }, { 0, 0, 8 }, 0, "two\n" },
        { { "one\n", "two\n", "four\n" }, { NULL, "two\n", "four\n" }, { 0, 4, 8 }, 0, "one\n" },
        { { NULL, NULL, "four\n" }, { NULL, NULL, "four\n" }, { 0, 0, 8 }, 0, "" }, /* not saved */
        { { "one\n", "two\n", "" }, { "one\n", "two\n", NULL }, { 0, 4, 8 }, 0, "" },
        { { "one\n", "two\n", "four\n" }, { "one\n", "two\n", "four\n" }, { 0, 4, 8 }, 0, "" },
        { { NULL, NULL, "four\n" }, { NULL, NULL, "four\n" }, { 0, 0, 0 }, 0, "" },
    };
    static const char *const names[] = { "worker-0.1.out", "worker-0.2.out", "worker-0.out" };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stage s = { .dir = *state, .whole = true, .hidden = rows[i].hidden };
        const struct show_options o = { .sink = see_nothing, .user = &s };
        AUTO(show) struct show *show = NULL;

        assert_int_equal(show_new(&o, &show), 0);
        s.followed = show;
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            struct piece p = { .kind = PIECE_OUTPUT, .task = "worker:0", .data = rows[i].seen[k] };

            if (rows[i].files[k])
                put(*state, names[k], rows[i].files[k]);
            p.offset = rows[i].at[k];
            p.began = k > 0 ? (uint32_t)k + 1 : 0;
            p.n = p.data ? strlen(p.data) : 0;
            if (p.data)
                assert_int_equal(show_piece(show, &p, 0), 0);
        }
        assert_played(&s, rows[i].wanted);
        for (size_t k = 0; k < COUNT_OF(names); k++)
            if (rows[i].files[k])
                remove_file(*state, names[k]);
    }
}

/* Earlier output was shown when the job was found; another agent saved its own after that. */
static void what_is_saved_after_the_reader_came_is_shown_at_the_end(void **state)
{
    struct stage s = { .dir = *state, .runs = true, .err = { .at = UINT64_MAX } };
    const struct show_options o = { .sink = see_nothing, .user = &s };
    AUTO(show) struct show *show = NULL;
    struct piece p = { .kind = PIECE_OUTPUT, .task = "worker:0", .data = "four\n", .n = 5 };

    put(*state, "worker-0.out", "one\n");
    assert_int_equal(show_new(&o, &show), 0);
    s.followed = show;
    assert_played(&s, "one\n");
    s.seen.max = 0;
    p.offset = 8;
    p.began = 3;
    assert_int_equal(show_piece(show, &p, 0), 0);
    put(*state, "worker-0.1.out", "one\n");
    put(*state, "worker-0.2.out", "two\n");
    put(*state, "worker-0.out", "four\n");
    s.runs = false;
    s.whole = true;
    assert_played(&s, "two\n");
}

/* It was cut off from its master and wrote for longer than that one waited. The stream breaks when
 * its reader has seen all of the next file, or some of it. */
static void what_an_agent_wrote_unheard_is_no_part_of_the_next_file(void **state)
{
    static const struct {
        const char *seen, *wanted;
    } rows[] = {
        { "four\nfive\n", "two\nthree\nmore\n" },
        { "four\n", "five\n" }, /* which of the files it is is not certain */
    };

    put(*state, "worker-0.1.out", "one\ntwo\nthree\nmore\n");
    put(*state, "worker-0.out", "four\nfive\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stage s = { .dir = *state, .last = true };
        const struct show_options o = { .sink = see_nothing, .user = &s };
        AUTO(show) struct show *show = NULL;

        assert_int_equal(show_new(&o, &show), 0);
        s.followed = show;
        assert_int_equal(
            show_piece(show,
                       &(struct piece){
                           .kind = PIECE_OUTPUT, .task = "worker:0", .data = "one\n", .n = 4 },
                       0),
            0);
        show_text(show, rows[i].seen, 4, 0);
        assert_int_equal(show_began(show, "worker:0", PIECE_OUT), 2);
        assert_played(&s, rows[i].wanted);
    }
}

/* The agent that was cut off saved after the one that took its place: by their names, its file is
 * the last one. */
static void files_that_were_saved_in_another_order_are_told_apart(void **state)
{
    for (int whole = 0; whole < 2; whole++) {
        struct stage s = { .dir = *state, .whole = whole, .last = true };
        const struct show_options o = { .sink = see_nothing, .user = &s };
        AUTO(show) struct show *show = NULL;
        struct piece p = { .kind = PIECE_OUTPUT, .task = "worker:0", .data = "one\n", .n = 4 };

        put(*state, "worker-0.1.out", "four\nfive\n");
        put(*state, "worker-0.out", "one\ntwo\n");
        assert_int_equal(show_new(&o, &show), 0);
        s.followed = show;
        assert_int_equal(show_piece(show, &p, 0), 0);
        show_text(show, "four\nfive\n", 4, 0);
        assert_played(&s, "two\n");
    }
}

/* It was scaled away: nobody sends any more of it, and its last file stays the last. */
static void what_a_task_left_that_is_gone_is_shown_once(void **state)
{
    struct stage s = { .dir = *state, .runs = true, .err = { UINT64_MAX, 0 } };
    const struct show_options o = { .sink = see_nothing, .user = &s };
    AUTO(show) struct show *show = NULL;

    put_parts(*state);
    remove_file(*state, "worker-0.err");
    assert_int_equal(show_new(&o, &show), 0);
    s.followed = show;
    assert_played(&s, "one\ntwo\nthree\nfour\nfive\n");
    s.seen.max = 0;
    s.runs = false;
    assert_played(&s, "");
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(parts_go_on_where_they_stopped),
        CLAIM(each_stream_has_a_place_of_its_own),
        CLAIM(a_file_that_nobody_followed_is_shown_whole),
        CLAIM(what_was_never_saved_takes_nothing_from_the_rest),
        CLAIM(who_followed_sees_every_line_once),
        CLAIM(who_begins_after_a_move_sees_every_line_once),
        CLAIM(what_the_next_agent_in_the_container_sends_again_is_shown_once),
        CLAIM(what_an_agent_sent_to_nobody_is_shown_at_the_end),
        CLAIM(what_is_saved_after_the_reader_came_is_shown_at_the_end),
        CLAIM(what_an_agent_wrote_unheard_is_no_part_of_the_next_file),
        CLAIM(files_that_were_saved_in_another_order_are_told_apart),
        CLAIM(what_a_task_left_that_is_gone_is_shown_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
