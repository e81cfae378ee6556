"""DistributedDataParallel over gloo, started the way torchrun starts it."""

import hashlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def points(seed: int, count: int) -> TensorDataset:
    """Random points, and whether a fixed small network says yes to them."""
    x = torch.randn(count, 16, generator=torch.Generator().manual_seed(seed))
    w = torch.randn(16, 1, generator=torch.Generator().manual_seed(1))
    return TensorDataset(x, (x @ w > 0).float())


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)  # every rank starts elsewhere: DDP has to make them equal
model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
data = points(2, 2048)
sampler = DistributedSampler(data, shuffle=True)
loader = DataLoader(data, batch_size=32, sampler=sampler)
loss_of = nn.BCEWithLogitsLoss()
for epoch in range(5):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()

x, y = points(3, 512).tensors
with torch.no_grad():
    accuracy = ((model(x) > 0).float() == y).float().mean().item()
weights = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
print(f"rank {rank} of {world}, accuracy {accuracy:.4f}, model {hashlib.sha256(weights).hexdigest()}",
      flush=True)
dist.destroy_process_group()
