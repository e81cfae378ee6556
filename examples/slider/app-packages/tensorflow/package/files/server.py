"""A bare server of a cluster whose one client does everything; it ends when the client has."""

import argparse
import json
import os
import time
import urllib.request

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow.compat.v1 as tf

POLL_S = 0.5
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def client_is_done():
    """As the application's master sees it."""
    address = os.environ["SLIDER_REST"] + "/application/live/components/client"
    with _DIRECT.open(address, timeout=10) as answer:
        client = json.load(answer)
    return client["completed"] >= client["desired"]


def main():
    """Serves."""
    parser = argparse.ArgumentParser()
    for name in ("--ps_hosts", "--worker_hosts"):
        parser.add_argument(name, default="")
    parser.add_argument("--job_name", required=True)
    parser.add_argument("--task_index", type=int, required=True)
    args = parser.parse_known_args()[0]
    cluster = {name: hosts.split(",") for name, hosts in (("ps", args.ps_hosts),
                                                          ("worker", args.worker_hosts)) if hosts}
    server = tf.train.Server(cluster, job_name=args.job_name, task_index=args.task_index,
                             config=tf.ConfigProto(intra_op_parallelism_threads=1,
                                                   inter_op_parallelism_threads=2))
    print("%s %d serves at %s" % (args.job_name, args.task_index, server.target), flush=True)
    while not client_is_done():
        time.sleep(POLL_S)
    os._exit(0)  # a server cannot be ended but with its process


if __name__ == "__main__":
    main()
