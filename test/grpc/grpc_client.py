"""gRPC's own client, in its own Python: grpc_client.py SCENARIO PORT [CERTIFICATE] prints what it saw
as JSON. What should have been is known by test_grpc.py."""

import json
import sys
import threading
import time
from pathlib import Path

import grpc

PATIENCE = 120  # seconds that anything may take
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Client:
    """One connection."""

    def __init__(self, port: str, certificate: str | None = None):
        address = f"127.0.0.1:{port}"
        if certificate:
            trust = grpc.ssl_channel_credentials(Path(certificate).read_bytes())
            self.channel = grpc.secure_channel(
                address, trust, options=UNLIMITED + [("grpc.ssl_target_name_override", "localhost")])
        else:
            self.channel = grpc.insecure_channel(address, options=UNLIMITED)

    def method(self, name: str):
        return self.channel.unary_unary(f"/test.Test/{name}")

    def ask(self, name: str, message: bytes = b"", **options) -> bytes:
        return self.method(name)(message, **({"timeout": PATIENCE} | options))

    def failure(self, name: str, message: bytes = b"", **options) -> list[str]:
        """Status and text of a call that has to fail."""
        try:
            self.ask(name, message, **options)
        except grpc.RpcError as e:
            return [e.code().name, e.details()]
        return ["OK", ""]

    def await_counts(self, calls: int, cancelled: int):
        """Until so many run besides this one, and so many were cancelled."""
        deadline = time.monotonic() + PATIENCE
        while (seen := self.ask("Count").decode()) != f"{calls + 1} {cancelled}":
            assert time.monotonic() < deadline, seen
            time.sleep(0.01)


def unary(client: Client):
    sizes = [0, 1, 16379, 16384, 65536, 5000000]
    return [size for size in sizes if client.ask("Echo", b"x" * size) == b"x" * size]


def large_answer(client: Client):
    return len(client.ask("Big", b"20000000"))


def failures(client: Client):
    return {"unknown": client.failure("Nope"), "fail": client.failure("Fail"),
            "gzip": client.failure("Echo", b"x" * 1000, compression=grpc.Compression.Gzip),
            "after": client.ask("Echo", b"still here").decode()}


def too_large(client: Client):
    return {"over": client.failure("Echo", b"x" * 1001), "at": len(client.ask("Echo", b"x" * 1000)),
            "by far": client.failure("Echo", b"x" * 10000000)}


def request_id(client: Client):
    _, call = client.method("Echo").with_call(b"", metadata=[("x-request-id", "r-17")],
                                              timeout=PATIENCE)
    return dict(call.initial_metadata()).get("x-request-id")


def cancelled(client: Client):
    """Sixteen at once on one connection, which are given up while they run."""
    calls = [client.method("Sleep").future(b"100000", timeout=PATIENCE) for _ in range(16)]
    client.await_counts(16, 0)
    for call in calls:
        call.cancel()
    client.await_counts(0, 16)
    return client.ask("Echo", b"still here").decode()


def deadline(client: Client):
    failed = client.failure("Sleep", b"100000", timeout=0.2)
    client.await_counts(0, 1)
    return failed[0]


def many(client: Client):
    """Eight threads that share a connection."""
    wrong = []

    def work(worker: int):
        for i in range(250):
            message = f"{worker}.{i}".encode() * (i + 1)
            if client.ask("Echo", message) != message:
                wrong.append(message)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(wrong)


def drain(client: Client):
    """A call that runs when the server begins to drain: its answer, and what a later one is told."""
    call = client.method("Sleep").future(b"2000", timeout=PATIENCE)
    client.await_counts(1, 0)
    print("running", flush=True)
    answer = call.result(PATIENCE).decode()
    while client.failure("Echo", b"x")[0] != "UNAVAILABLE":
        time.sleep(0.01)
    return answer


if __name__ == "__main__":
    scenario, *connection = sys.argv[1:]
    print(json.dumps(globals()[scenario](Client(*connection))))
