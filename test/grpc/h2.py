"""HTTP/2 by hand, for what no decent client does."""

import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
ENHANCE_YOUR_CALM = 11
PATIENCE = 120


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _text(value: bytes) -> bytes:
    return bytes([len(value)]) + value


def headers(stream: int, path: bytes) -> bytes:
    """Of a call, without compression: static names where there are some."""
    block = (b"\x83\x86\x04" + _text(path) + b"\x01" + _text(b"here")
             + b"\x00" + _text(b"content-type") + _text(b"application/grpc"))
    return frame(HEADERS, 4, stream, block)


def message(payload: bytes) -> bytes:
    return b"\0" + struct.pack(">I", len(payload)) + payload


class Peer:
    """A connection that has begun."""

    def __init__(self, port: int, settings: bytes = b""):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        self._got = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *frames: bytes) -> bool:
        """False when the server has closed."""
        try:
            self.socket.sendall(b"".join(frames))
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _read(self, n: int) -> bytes | None:
        while len(self._got) < n:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                return None
            if not more:
                return None
            self._got += more
        out, self._got = self._got[:n], self._got[n:]
        return out

    def frames(self):
        """(kind, flags, stream, payload) of each, up to the end of the connection."""
        while head := self._read(9):
            length = int.from_bytes(head[:3], "big")
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            payload = self._read(length)
            if payload is None:
                return
            yield kind, flags, stream, payload

    def first(self, *kinds: int):
        """The first frame of one of these kinds; None when the connection ends before."""
        return next((f for f in self.frames() if f[0] in kinds), None)

    def await_close(self):
        """Without reading: what is sent fails some time."""
        deadline = time.monotonic() + PATIENCE
        while self.send(frame(PING, 1, 0, bytes(8))):
            assert time.monotonic() < deadline, "the server keeps a client that does not read"
            time.sleep(0.05)
