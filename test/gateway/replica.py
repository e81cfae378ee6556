"""A replica for tests of the gateway: HTTP/1.1 by hand, so that it is small and fast.

    replica.py PORT NAME [DELAY_MS] [READY_FILE]

Answers GET /v2/health/ready with 200 (503 while READY_FILE is named and missing), and everything
else with JSON: its name, how long the body was, the body's SHA-256, and on which of its connections
the request came. A header X-Status asks for
another status, X-Delay for a later answer. A replica whose name begins with "bad" answers 500.
"""

import asyncio
import hashlib
import itertools
import json
import os
import sys

PORT, NAME = int(sys.argv[1]), sys.argv[2]
DELAY = float(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 0
CONNECTIONS = itertools.count()
READY = sys.argv[4] if len(sys.argv) > 4 else None


async def read_body(reader, headers):
    """Length and digest of a body; nothing of it is kept."""
    digest, total = hashlib.sha256(), 0

    async def take(n):
        nonlocal total
        total += n
        while n:
            piece = await reader.read(min(n, 1 << 16))
            if not piece:
                raise EOFError
            digest.update(piece)
            n -= len(piece)

    if headers.get("transfer-encoding") == "chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            await take(size)
            await reader.readexactly(2)
        await reader.readline()
    else:
        await take(int(headers.get("content-length", 0)))
    return total, digest.hexdigest()


async def answer_one(reader, writer, connection):
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rest = head.decode("latin1").split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in rest if line)}
    method, path, _ = first.split(" ", 2)
    if path == "/v2/health/ready":
        status, answer = (200 if READY is None or os.path.exists(READY) else 503), {}
    else:
        length, digest = await read_body(reader, headers)
        if delay := DELAY + float(headers.get("x-delay", 0)) / 1000:
            await asyncio.sleep(delay)
        status = int(headers.get("x-status", 500 if NAME.startswith("bad") else 200))
        answer = {"replica": NAME, "method": method, "path": path, "length": length,
                  "sha256": digest, "headers": headers, "connection": connection}
    body = json.dumps(answer).encode()
    writer.write(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                 % (status, len(body), body))
    await writer.drain()


async def serve(reader, writer):
    connection = next(CONNECTIONS)
    try:
        while True:
            await answer_one(reader, writer, connection)
    except (EOFError, ConnectionError, ValueError, asyncio.LimitOverrunError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", PORT, backlog=512)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())
