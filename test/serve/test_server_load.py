"""Twice as many requests as the server can answer, at a constant rate, whatever it says: it answers
as many as it can, refuses the others at once, and takes no more memory for it."""

import asyncio
import collections
import json
import time

import pytest
from serve_support import SLOW, rounds

BODY = "POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n%s"


class Load:
    """An open loop: a request is due when it is due, on a connection that is free or a new one."""

    def __init__(self, port, n):
        text = json.dumps(rounds(n))
        self.request = (BODY % (SLOW, len(text), text)).encode()
        self.port, self.idle = port, collections.deque()
        self.statuses, self.wrong, self.opened = collections.Counter(), [], 0

    async def one(self):
        if self.idle:
            reader, writer = self.idle.popleft()
        else:
            self.opened += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(self.request)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        status = int(head.split()[1])
        self.statuses[status] += 1
        if status == 200 and json.loads(body)["outputs"][0]["data"] != [64]:
            self.wrong.append(body)
        self.idle.append((reader, writer))

    async def closed(self, seconds):
        """As many as there can be, by four at a time: the rate."""
        end, done = time.monotonic() + seconds, 0

        async def again():
            nonlocal done
            while time.monotonic() < end:
                await self.one()
                done += 1
        await asyncio.gather(*(again() for _ in range(4)))
        return done / seconds

    async def open(self, rate, seconds):
        began, tasks = time.monotonic(), []
        for i in range(int(rate * seconds)):
            await asyncio.sleep(max(0, began + i / rate - time.monotonic()))
            tasks.append(asyncio.create_task(self.one()))
        await asyncio.gather(*tasks)


async def overload(server, n, seconds):
    load = Load(server.port, n)
    rate = 2 * await load.closed(1)
    await load.open(rate, 2)  # buffers have their size then
    memory = server.memory()
    load.statuses.clear()
    await load.open(rate, seconds)
    return load, rate, server.memory() - memory


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.full)])
def test_twice_the_capacity_is_answered_200_or_429_in_the_same_memory(serve, seconds):
    server = serve("slow", "--queue", "8", "--connections", "2000")
    n, took = 500, 0
    while took < 0.005:  # a client has time for the next ones meanwhile
        n, begun = 2 * n, time.monotonic()
        assert server.post(SLOW, rounds(n)).status == 200
        took = time.monotonic() - begun
    load, rate, grown = asyncio.run(overload(server, n, seconds))
    assert set(load.statuses) == {200, 429} and not load.wrong, load.statuses
    # What is refused costs time, too; and the machine has other work.
    assert load.statuses[200] > rate / 2 * seconds * 0.1, (load.statuses, rate)
    assert grown < 8 << 20
    assert server.metric("ydl_serve_waiting_requests") == 0
    assert server.metric("ydl_serve_request_memory_bytes") == 0
    assert server.end() == 0
