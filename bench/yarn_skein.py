"""Runs a script in containers with skein, and waits: yarn_skein.py SCRIPT COUNT."""

import sys
import time

import skein

POLL_SECONDS = 0.2


def main(script: str, count: int) -> int:
    """Returns the exit code."""
    tasks = skein.Service(instances=count, script=script,
                          resources=skein.Resources(memory="64 MiB", vcores=1))
    spec = skein.ApplicationSpec(name="bench", services={"task": tasks})
    with skein.Client(log=False) as client:
        app = client.submit(spec)
        print(app, flush=True)
        while (report := client.application_report(app)).final_status == "undefined":
            time.sleep(POLL_SECONDS)
    if report.final_status != "succeeded":
        print(report.diagnostics, file=sys.stderr)
    return report.final_status != "succeeded"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
