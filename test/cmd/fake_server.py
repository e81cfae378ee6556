"""Servers that behave badly, for what is said about them. Each is a context manager and knows its
port."""

import socket
import struct
import threading


class Server:
    """Listens on loopback and gives each connection to `serve`, in a thread of its own."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections: list[socket.socket] = []

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.connections:
            connection.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._safely, args=(connection,), daemon=True).start()

    def _safely(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass

    def serve(self, connection: socket.socket) -> None:
        """What happens to one connection; nothing, unless a subclass says otherwise."""


class Silent(Server):
    """Accepts and says nothing."""


class Talker(Server):
    """Says the same bytes to everybody."""

    def __init__(self, what: bytes, close: bool = False):
        super().__init__()
        self.what, self.close = what, close

    def serve(self, connection):
        connection.sendall(self.what)
        if self.close:
            connection.shutdown(socket.SHUT_RDWR)


class Standby(Server):
    """Speaks Hadoop's RPC, wants no sign-in, and answers every call that it is not the active
    one."""

    def serve(self, connection):
        stream = connection.makefile("rb")
        stream.read(7)  # "hrpc", version, service class, SASL
        while True:
            head = stream.read(4)
            if len(head) < 4:
                return
            frame = stream.read(struct.unpack(">I", head)[0])
            size, at = _varint(frame, 0)
            call = _call_id(frame[at:at + size])
            if call == SASL_CALL:
                connection.sendall(_answer(call, 0, b"", _number(2, 0)))  # SUCCESS: no need
            elif call >= 0:
                connection.sendall(_answer(call, 1, REFUSAL))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _call_id(header: bytes) -> int:
    """Field 3 of the request's header, a zig-zag number."""
    at = 0
    while at < len(header):
        key, at = _varint(header, at)
        if key & 7 == 2:
            size, at = _varint(header, at)
            at += size
        else:
            value, at = _varint(header, at)
            if key >> 3 == 3:
                return (value >> 1) ^ -(value & 1)
    return -1


def _encode(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _number(field: int, value: int) -> bytes:
    return _encode(field << 3) + _encode(value)


def _text(field: int, value: str) -> bytes:
    return _encode(field << 3 | 2) + _encode(len(value)) + value.encode()


SASL_CALL = -33
REFUSAL = (_text(4, "org.apache.hadoop.ipc.StandbyException")
           + _text(5, "Operation category READ is not supported in state standby"))


def _answer(call: int, status: int, more: bytes, message: bytes | None = None) -> bytes:
    """A frame: header, and with it perhaps a message."""
    header = _number(1, call & 0xffffffff) + _number(2, status) + _number(3, 9) + more
    body = _encode(len(header)) + header
    if message is not None:
        body += _encode(len(message)) + message
    return struct.pack(">I", len(body)) + body
