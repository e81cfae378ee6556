"""A network that can be cut: connections through it stay, and say nothing until it is mended."""

import contextlib
import select
import socket
import threading


class Link:
    """A port of its own through which the agent reaches the port `to`, while it is whole."""

    def __init__(self):
        self.to = 0
        self.server = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.port = self.server.getsockname()[1]
        self.whole, self.ended = threading.Event(), threading.Event()
        self.whole.set()
        self.fillers: list[socket.socket] = []
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while not self.ended.is_set():
            if not self.whole.wait(0.1) or not select.select([self.server], [], [], 0.1)[0]:
                continue
            if not self.whole.is_set():
                continue
            conn, _ = self.server.accept()
            with contextlib.suppress(OSError):
                there = socket.create_connection(("127.0.0.1", self.to))
                for a, b in (conn, there), (there, conn):
                    threading.Thread(target=self._relay, args=(a, b), daemon=True).start()

    def _relay(self, a: socket.socket, b: socket.socket):
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                while not self.whole.wait(0.1):
                    if self.ended.is_set():
                        return
                b.sendall(data)
        with contextlib.suppress(OSError):
            b.shutdown(socket.SHUT_WR)

    def cut(self):
        """A new connection does not come about either: the queue of the port is full."""
        self.whole.clear()
        for _ in range(4):
            self.fillers.append(socket.socket())
            self.fillers[-1].setblocking(False)
            self.fillers[-1].connect_ex(self.server.getsockname())

    def mend(self):
        while self.fillers:
            self.fillers.pop().close()
        self.whole.set()

    def close(self):
        self.ended.set()
        self.mend()
        self.thread.join()
        self.server.close()
