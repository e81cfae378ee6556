"""A model that is a program of its own, for test_command.py: it answers what the path asks for.

    python3 command_model.py PORT

Whoever asks to be held is released by a request to /release, so that nothing here waits for a time.
"""

import http.server
import json
import os
import sys
import threading
import urllib.parse

released = threading.Event()
seen = {"gone": 0, "held": 0, "once": 0}


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):  # pylint: disable=arguments-differ
        pass

    def body(self):
        """All of it."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            found = b""
            while size := int(self.rfile.readline(), 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def reply(self, data, status=200, headers=()):
        """One answer."""
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def event(self, text):
        """One server-sent event, as a chunk."""
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def stream(self, n, hold):
        """Events; held before each but the first until somebody releases it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(n):
            if hold and i:
                released.wait()
                released.clear()
            self.event(i)
        self.wfile.write(b"0\r\n\r\n")

    def hold(self):
        """Sends nothing until its client is gone, and counts that."""
        seen["held"] += 1
        if self.connection.recv(1) == b"":
            seen["gone"] += 1
        self.close_connection = True

    def do_GET(self):  # pylint: disable=invalid-name
        """Everything by its path."""
        path = self.path.partition("?")[0]
        body = self.body()
        if path == "/health":
            self.reply(b"ok", 503 if os.path.exists("not-ready") else 200)
        elif path == "/echo":
            self.reply({"method": self.command, "path": self.path, "size": len(body),
                        "body": body[:100].decode("latin-1"), "headers": dict(self.headers),
                        "pid": os.getpid()},
                       headers=[("X-Mine", "1"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"),
                                ("Connection", "keep-alive, X-Hop"), ("X-Hop", "no")])
        elif path == "/stream":
            self.stream(3, True)
        elif path == "/tokens":
            self.stream(1000, False)
        elif path == "/release":
            released.set()
            self.reply(b"")
        elif path == "/hold":
            self.hold()
        elif path == "/seen":
            self.reply(seen)
        elif path == "/large":
            self.reply(b"x" * (8 << 20))
        elif path == "/teapot":
            self.reply(b"short and stout", 418)
        elif path == "/nothing":
            self.send_response(204)
            self.end_headers()
        elif path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100000000")
            self.end_headers()
            self.wfile.write(b"x" * 100)
            self.close_connection = True
        elif path.startswith("/raw/"):
            self.wfile.write(urllib.parse.unquote(path[5:]).replace("|", "\r\n").encode())
            self.close_connection = "204" not in path
        elif path.startswith("/headers/"):
            n = int(path[9:])
            self.reply(b"", headers=[(f"X-Mine-{i}", "x" * 900) for i in range(n // 900 + 1)])
        elif path == "/once":
            seen["once"] += 1
            self.close_connection = True
        elif path == "/print":
            for _ in range(10000):
                print("y" * 100)
            sys.stdout.flush()
            self.reply(b"")
        elif path == "/die":
            os._exit(3)
        else:
            self.reply({"error": "no such path"}, 404)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET


print("program: starting", flush=True)
if len(sys.argv) > 2:
    sys.exit(int(sys.argv[2]))
http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
