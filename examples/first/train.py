"""Data-parallel training with nothing but Python: a line is fitted, and each step averages the gradients of all
ranks at rank 0, where MASTER_ADDR and MASTER_PORT lead. A framework does the same, faster."""

import json
import os
import random
import socket
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ADDRESS = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


def connect():
    """To rank 0, which may not listen yet."""
    for _ in range(600):
        try:
            return socket.create_connection(ADDRESS)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("rank 0 does not listen")


def meet():
    """Files to write to and read from: rank 0 has one of each other rank, they have one."""
    if RANK > 0:
        return [connect().makefile("rw")]
    with socket.create_server(ADDRESS) as server:
        return [server.accept()[0].makefile("rw") for _ in range(WORLD - 1)]


def send(peer, value):
    peer.write(json.dumps(value) + "\n")
    peer.flush()


def mean(values, peers):
    """Of what all ranks have."""
    if RANK > 0:
        send(peers[0], values)
        return json.loads(peers[0].readline())
    rows = [values] + [json.loads(peer.readline()) for peer in peers]
    values = [sum(column) / WORLD for column in zip(*rows)]
    for peer in peers:
        send(peer, values)
    return values


random.seed(RANK)
points = [(x, 2 * x + 1) for x in (random.random() for _ in range(1000))]
everybody = meet()
a = b = 0.0
for step in range(301):
    errors = [(a * x + b - y, x) for x, y in points]
    loss, da, db = mean([sum(f(e, x) for e, x in errors) / len(errors)
                         for f in (lambda e, x: e * e, lambda e, x: 2 * e * x, lambda e, x: 2 * e)], everybody)
    a, b = a - 0.5 * da, b - 0.5 * db
    if step % 100 == 0:
        print(f"rank {RANK} of {WORLD}: step {step}, loss {loss:.6f}", flush=True)
print(f"rank {RANK} of {WORLD}: y = {a:.2f} x + {b:.2f}")
