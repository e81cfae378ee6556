/* tracker_server.h - what the trackers share: a listening socket, a fiber per connection, limits,
 * and notes.
 *
 * Nobody who connects is known beforehand. So each connection is a stranger (wire/admission.h)
 * until it has said the protocol's first word, and then a client that has little time to show that
 * it speaks the rest ("proven"); when there are too many, the oldest makes room. A client that
 * breaks the rules is dropped with a note and disturbs nobody else. Fibers only, unless said
 * otherwise. */
#pragma once
#include "base/buf.h"
#include "rendezvous/rendezvous.h"
#include "wire/admission.h"

struct tracker_server; /* opaque */

struct tracker_client {
    struct tracker_server *of;
    struct sock *sock;
    struct visitor *visitor;
    struct fiber *fiber;
    struct buf in; /* bytes read and not used yet */
    struct tracker_client *prev, *next;
    bool greeted; /* it said the protocol's first word */
    bool heard;   /* what it came to say has been acted upon */
};

/* One connection, from hello to its end. A failure becomes a note, but -ECANCELED and -ENODATA
 * without a text, which are nobody's fault. The client goes when it returns. */
typedef int tracker_talk(void *user, struct tracker_client *g, struct err *err);

struct tracker_server_options {
    const struct rendezvous_options *opt; /* borrowed */
    const char *name;                     /* for notes: "rabit" */
    size_t in_max;                        /* longest message */
    admission_first *first;               /* knows the protocol's first word */
    tracker_talk *talk;
    void *user;
};

/* Listens. *ret is the caller's: tracker_server_close(). Waits for nothing. */
int tracker_server_open(const struct tracker_server_options *o, struct tracker_server **ret,
                        int *ret_port, struct err *err);
struct tracker_server *
tracker_server_close(struct tracker_server *ts); /* ends all and waits for them; always NULL */

/* A note: "rabit: TEXT". After many of them no more are made. Does not wait. */
void tracker_server_note(struct tracker_server *ts, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What a worker prints: a note per line, as it is except for control characters. Does not wait. */
void tracker_server_print(struct tracker_server *ts, const char *text, size_t n);

/* Reads one message: calls parse(bytes so far) until it is content. It gives the bytes it used, 0
 * when it wants more, or a negative errno. The bytes stay where they are until
 * tracker_client_used(). Returns as parse does, or -ENODATA when the client hung up (no text when
 * it had said nothing). */
typedef ssize_t tracker_parse(const uint8_t *p, size_t n, void *ret, struct err *err);
ssize_t tracker_client_read(struct tracker_client *g, tracker_parse *parse, void *ret,
                            int64_t deadline, struct err *err);
void tracker_client_used(struct tracker_client *g, size_t n);
/* Both protocols begin with a number, 4 bytes in native order: 1 when it is there, 0 when more has
 * to come, -EPROTO when it is another one. For `first`. */
int tracker_server_first_word(const uint8_t *p, size_t n, int32_t magic, struct err *err);
/* Reads that number, which `first` has seen, and says it back. */
int tracker_client_greet(struct tracker_client *g, int32_t magic, int64_t deadline,
                         struct err *err);
/* It has shown who it is: it is not made to leave for others any more. Does not wait. */
void tracker_client_proven(struct tracker_client *g);
int tracker_client_write(struct tracker_client *g, const void *p, size_t n, struct err *err);
/* The client has nothing more to say; waits until it hangs up, however long. */
int tracker_client_linger(struct tracker_client *g, struct err *err);

/* A worker sends each command on a new connection, so that its start may be read before an earlier
 * shutdown. Waits until everybody of the same host who came before `g` and was greeted has been
 * heard, but not for long; -ECANCELED. For a start that fits badly, before that is judged.
 */
int tracker_client_settle(struct tracker_client *g);
void tracker_client_heard(struct tracker_client *g); /* also when it leaves. Does not wait */

const char *tracker_client_host(const struct tracker_client *g); /* numeric address, borrowed */

/* Orders the ids that launchers give to tasks: numbers by value, then other texts by their bytes.
 * So a task's rank is its number, where there are numbers. Pure. */
int tracker_server_compare_ids(const char *a, const char *b);
