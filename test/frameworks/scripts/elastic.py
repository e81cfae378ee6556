"""Reads what only torchrun sets, and fails the way torch records it."""

import os
import sys

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

NAMES = ("GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE",
         "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_USE_AGENT_STORE")


@record
def main():
    """What a rank prints shows that it is where torchrun would have put it."""
    assert dist.is_torchelastic_launched()
    dist.init_process_group("gloo")
    seen = [None] * dist.get_world_size()
    dist.all_gather_object(seen, os.environ["TORCHELASTIC_RUN_ID"])
    print(f"rank {dist.get_rank()} of {dist.get_world_size()},", os.environ["ROLE_NAME"],
          *(os.environ[name] for name in NAMES), "runs", len(set(seen)), flush=True)
    dist.barrier()
    if len(sys.argv) > 1 and dist.get_rank() == int(sys.argv[1]):
        raise ValueError("this layer does not learn")
    dist.destroy_process_group()  # else a thread of gloo may abort the process while it ends


main()
