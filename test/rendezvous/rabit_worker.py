"""A rabit worker: joins through the tracker, links up with its neighbours, passes data to them."""

import socket
import struct

from served import HOST, PATIENCE, Server, Wire

MAGIC = 0xFF99


def hello(server: Server, rank: int, world: int, job: str, *words) -> Wire:
    """A connection on which the magic numbers and the greeting were said."""
    wire = server.dial()
    wire.send(MAGIC)
    assert wire.number() == MAGIC
    wire.send(rank, world, job, *words)
    return wire


class Worker:
    """One process of the job, and its links by rank."""

    def __init__(self, server: Server, job: str = "NULL"):
        self.server, self.job = server, job
        self.rank = self.world = -1
        self.links: dict[int, socket.socket] = {}

    def join(self, command: str = "start") -> "Worker":
        with hello(self.server, self.rank, self.world, self.job, command) as wire:
            before = self.rank
            self.rank, self.parent, self.world, n = wire.numbers(4)
            assert before in (-1, self.rank)
            self.tree = wire.numbers(n)
            self.prev, self.next = wire.numbers(2)
            with socket.create_server((HOST, 0)) as listener:
                listener.settimeout(PATIENCE)
                accepts = self._connect(wire, listener.getsockname()[1])
                for _ in range(accepts):
                    self._accept(listener)
        wanted = set(self.tree) | {self.prev, self.next} - {-1}
        assert set(self.links) == wanted, (self.rank, self.links, wanted)
        return self

    def _connect(self, wire: Wire, port: int) -> int:
        while True:
            wire.send(len(self.links), *sorted(self.links))
            connect, accept = wire.numbers(2)
            peers = [(wire.text(), wire.number(), wire.number()) for _ in range(connect)]
            failed = sum(not self._link(*peer) for peer in peers)
            wire.send(failed)
            if not failed:
                wire.send(port)
                return accept

    def _link(self, host: str, port: int, rank: int) -> bool:
        try:
            sock = socket.create_connection((host, port), PATIENCE)
        except ConnectionError:
            return False
        sock.sendall(struct.pack("=i", self.rank))
        assert Wire(sock).number() == rank
        self.links[rank] = sock
        return True

    def _accept(self, listener: socket.socket):
        sock, _ = listener.accept()
        sock.sendall(struct.pack("=i", self.rank))
        rank = Wire(sock).number()
        assert rank not in self.links
        self.links[rank] = sock

    def lose(self, rank: int):
        """A link breaks."""
        self.links.pop(rank).close()

    def sum_by_tree(self, value: int) -> int:
        """Everybody's values added up: up the tree, and down again."""
        children = [r for r in self.tree if r != self.parent]
        value += sum(Wire(self.links[r]).number() for r in children)
        if self.parent != -1:
            Wire(self.links[self.parent]).send(value)
            value = Wire(self.links[self.parent]).number()
        for r in children:
            Wire(self.links[r]).send(value)
        return value

    def around_the_ring(self) -> list[int]:
        """The ranks in the order in which a token meets them, from this one on."""
        seen, token = [self.rank], self.rank
        for _ in range(self.world - 1):
            Wire(self.links[self.next]).send(token)
            token = Wire(self.links[self.prev]).number()
            seen.append(token)
        return seen

    def shutdown(self):
        for link in self.links.values():
            link.close()
        self.links.clear()
        hello(self.server, self.rank, self.world, self.job, "shutdown").sock.close()
        self.rank = -1
