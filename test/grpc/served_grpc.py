"""A gRPC server in a process of its own, and real clients of it."""

import json
import os
import subprocess
from pathlib import Path

import grpc_clients

HERE = Path(__file__).resolve().parent
_BIN = Path(os.environ.get("YDL_TEST_BIN") or HERE.parents[1] / "build" / "unit")
PATIENCE = 300  # seconds that anything may take


class Server:
    """ydl-test-grpc while the `with` lasts; it must end by itself, cleanly."""

    def __init__(self, *limits: str, certificate: tuple[Path, Path] | None = None):
        program = _BIN / "ydl-test-grpc"
        assert program.exists(), f"no {program}: build first, or set YDL_TEST_BIN"
        self._certificate = certificate
        self.command = [program, *limits, *(certificate or ())]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])
        return self

    def __exit__(self, kind, *_):
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()
        if kind is None:
            assert self.process.returncode == 0, out + err

    def drain(self) -> str:
        """Tells it to end, and returns what it says then."""
        self.process.stdin.write("drain\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def start_client(self, scenario: str) -> subprocess.Popen:
        command = [grpc_clients.directory() / "bin" / "python", HERE / "grpc_client.py", scenario,
                   str(self.port), *(self._certificate or ())[:1]]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def client(self, scenario: str):
        """What grpc_client.py saw."""
        process = self.start_client(scenario)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, out
        return json.loads(out)
