/* server_testing.c - a thread with blocking sockets, so that a fault in our loop cannot make client
 * and server fail alike. See server_testing.h. */
#include "hadoop/rpc/server_testing.h"
#include "hadoop/rpc/frame.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Reads exactly n bytes; false at the end, or when the test is over. */
static bool fake_server_read_all(const struct fake_server *f, int fd, uint8_t *p, size_t n)
{
    while (n > 0) {
        struct pollfd fds[] = { { fd, POLLIN, 0 }, { f->stop[0], POLLIN, 0 } };
        ssize_t got;

        if (poll(fds, 2, 10000) <= 0 || fds[1].revents)
            return false;
        got = read(fd, p, n);
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static uint8_t *fake_server_read_frame(const struct fake_server *f, int fd, size_t *ret_n)
{
    uint8_t head[4] = { 0 }, *p;
    struct view v = view_of(head, 4);

    if (!fake_server_read_all(f, fd, head, 4))
        return NULL;
    *ret_n = view_be32(&v);
    p = malloc(*ret_n);
    if (p && !fake_server_read_all(f, fd, p, *ret_n)) {
        free(p);
        return NULL;
    }
    return p;
}

static void send_answer(int fd, int32_t call_id, int status, const char *class_name,
                        const ProtobufCMessage *body)
{
    Ipc__RpcResponseHeader h = IPC__RPC_RESPONSE_HEADER__INIT;
    uint8_t out[1024];
    size_t n = 4, size;

    h.call_id = (uint32_t)call_id;
    h.status = (Ipc__RpcStatus)status;
    h.exception_class = class_name;
    h.error_message = class_name ? "because\n\tat X" : NULL;
    size = ipc__rpc_response_header__get_packed_size(&h);
    out[n++] = (uint8_t)size;
    n += ipc__rpc_response_header__pack(&h, out + n);
    if (status == IPC__RPC_STATUS__STATUS_SUCCESS) {
        size = body ? protobuf_c_message_get_packed_size(body) : 0;
        out[n++] = (uint8_t)size;
        if (body)
            n += protobuf_c_message_pack(body, out + n);
    }
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)((n - 4) >> (24 - 8 * i));
    (void)!write(fd, out, n);
}

static void note_call(struct fake_server *f, const Ipc__RpcRequestHeader *h)
{
    if (f->calls < 256) {
        f->call_ids[f->calls] = h->call_id;
        f->retries[f->calls] = h->retry_count;
    }
    f->calls++;
}

static void note_context(struct fake_server *f, struct view *v)
{
    size_t n = (size_t)view_varint(v);
    const uint8_t *p = view_bytes(v, n);
    Ipc__ConnectionContext *c = ipc__connection_context__unpack(NULL, n, p);

    if (c && c->user) {
        snprintf(f->user, sizeof(f->user), "%s", c->user->effective_user);
        snprintf(f->real_user, sizeof(f->real_user), "%s",
                 c->user->real_user ? c->user->real_user : "");
    }
    if (c)
        ipc__connection_context__free_unpacked(c, NULL);
}

static bool fake_server_act(struct fake_server *f, int fd, int32_t call_id)
{
    size_t at = f->calls - 1 < f->rows ? f->calls - 1 : f->rows - 1;
    const struct fake_row *row = &f->script[at];

    switch (row->act) {
    case FAKE_ANSWER:
        send_answer(fd, call_id, IPC__RPC_STATUS__STATUS_SUCCESS, NULL, NULL);
        return true;
    case FAKE_EXCEPTION:
        send_answer(fd, call_id, IPC__RPC_STATUS__STATUS_ERROR, row->text, NULL);
        return true;
    case FAKE_FATAL:
        send_answer(fd, FRAME_CALL_FATAL, IPC__RPC_STATUS__STATUS_FATAL, row->text, NULL);
        return false;
    case FAKE_HOLD:
        for (size_t i = f->calls; f->calls == row->count && i > 0; i--)
            send_answer(fd, f->call_ids[i - 1], IPC__RPC_STATUS__STATUS_SUCCESS, NULL, NULL);
        return true;
    case FAKE_NONSENSE:
        (void)!write(fd, "\0\0\0\3abc", 7);
        return true;
    case FAKE_SILENT:
    case FAKE_SLOW:
        return true;
    default:
        return false;
    }
}

static void on_ping(struct fake_server *f, int fd)
{
    if (++f->pings == 2 && f->script[0].act == FAKE_SLOW)
        send_answer(fd, f->call_ids[0], IPC__RPC_STATUS__STATUS_SUCCESS, NULL, NULL);
}

/* One frame; false ends the connection. */
static bool serve_frame(struct fake_server *f, int fd)
{
    Ipc__RpcSasl done = IPC__RPC_SASL__INIT;
    Ipc__RpcRequestHeader *h;
    size_t n, size;
    uint8_t *p = fake_server_read_frame(f, fd, &n);
    struct view v = view_of(p, p ? n : 0);
    bool go_on = true;

    if (!p)
        return false;
    size = (size_t)view_varint(&v);
    h = ipc__rpc_request_header__unpack(NULL, size, view_bytes(&v, size));
    if (h->call_id == FRAME_CALL_SASL) {
        done.state = IPC__SASL_STATE__SASL_SUCCESS;
        send_answer(fd, FRAME_CALL_SASL, IPC__RPC_STATUS__STATUS_SUCCESS, NULL, &done.base);
    } else if (h->call_id == FRAME_CALL_CONTEXT) {
        note_context(f, &v);
    } else if (h->call_id == FRAME_CALL_PING) {
        on_ping(f, fd);
    } else if (h->call_id >= 0) {
        note_call(f, h);
        go_on = fake_server_act(f, fd, h->call_id);
    }
    ipc__rpc_request_header__free_unpacked(h, NULL);
    free(p);
    return go_on;
}

static void fake_server_serve(struct fake_server *f, int fd)
{
    uint8_t hello[7];

    if (f->greeting) {
        (void)!write(fd, f->greeting, strlen(f->greeting));
        return;
    }
    if (!fake_server_read_all(f, fd, hello, sizeof(hello)))
        return;
    while (f->mute ? fake_server_read_all(f, fd, hello, 1) : serve_frame(f, fd))
        ;
}

static void *fake_server_run(void *arg)
{
    struct fake_server *f = arg;

    if (f->in_thread)
        f->in_thread();
    for (;;) {
        struct pollfd fds[] = { { f->listener, POLLIN, 0 }, { f->stop[0], POLLIN, 0 } };
        int fd;

        if (poll(fds, 2, 10000) <= 0 || fds[1].revents)
            return NULL;
        fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        f->connections++;
        fake_server_serve(f, fd);
        close(fd);
    }
}

void fake_server_start(struct fake_server *f)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof(sa);

    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(f->listener, (struct sockaddr *)&sa, n) < 0 || listen(f->listener, 16) < 0 ||
        getsockname(f->listener, (struct sockaddr *)&sa, &n) < 0 || pipe(f->stop) < 0 ||
        pthread_create(&f->thread, NULL, fake_server_run, f) != 0)
        abort();
    f->port = ntohs(sa.sin_port);
}

void fake_server_stop(struct fake_server *f)
{
    (void)!write(f->stop[1], "x", 1);
    pthread_join(f->thread, NULL);
    close(f->listener);
    close(f->stop[0]);
    close(f->stop[1]);
}
