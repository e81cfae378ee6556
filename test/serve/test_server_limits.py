"""What a server does not do for clients that have gone, and what it takes at most."""

import socket

from serve_support import LONG, SLOW, infer, rounds, start_asking, wait_for


def test_who_hangs_up_leaves_the_queue(serve):
    server = serve("slow", "--queue", "2", "--deadline", "1h")
    running = start_asking(server, SLOW, rounds(LONG))
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    waiting = [start_asking(server, SLOW, rounds(LONG)) for _ in range(2)]
    wait_for(lambda: server.metric("ydl_serve_waiting_requests") == 2)
    waiting[0].close()
    wait_for(lambda: server.metric("ydl_serve_waiting_requests") == 1)
    waiting[1].sock.shutdown(socket.SHUT_WR)
    wait_for(lambda: server.metric("ydl_serve_waiting_requests") == 0)
    assert server.metric("ydl_serve_running_batches") == 1
    running.close()


def test_a_second_request_behind_it_is_no_hanging_up(serve):
    server = serve("slow", "--deadline", "1h")
    running = start_asking(server, SLOW, rounds(20000))
    wait_for(lambda: server.metric("ydl_serve_running_batches") == 1)
    body = b'{"inputs": [{"name": "n", "shape": [1], "datatype": "INT64", "data": [1]}]}'
    request = (b"POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n%s"
               % (SLOW.encode(), len(body), body))
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(request)
        s.sendall(request)
        assert running.getresponse().status == 200
        answers = b""
        while answers.count(b"HTTP/1.1 200 OK") < 2:
            answers += (got := s.recv(65536))
            assert got, answers
