"""JAX on several processes: softmax regression, with the gradients averaged over all of them."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize()
rank, world = jax.process_index(), jax.process_count()
digits = load_digits()
x = np.c_[digits.data / 16.0, np.ones(len(digits.data))].astype(np.float32)
y = np.eye(10, dtype=np.float32)[digits.target]
order = np.random.RandomState(7).permutation(len(x))
train, test = order[:1500], order[1500:]


def loss_of(w, x, y):
    """Cross entropy."""
    return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(x @ w), axis=1))


def step(w, x, y):
    """One of them, on one device; `all` is every device of every process."""
    return w - 1.0 * jax.lax.pmean(jax.grad(loss_of)(w, x, y), "all")


assert jax.device_count() == world * jax.local_device_count()
rows = train[:1500 // jax.device_count() * jax.device_count()].reshape(jax.device_count(), -1)
mine = rows[rank * jax.local_device_count():][:jax.local_device_count()]
w = np.zeros((jax.local_device_count(), 65, 10), np.float32)
step = jax.pmap(step, axis_name="all")
for _ in range(100):
    w = step(w, x[mine], y[mine])
w = np.asarray(w)[0]
right = (x[test] @ w).argmax(1) == digits.target[test]
print(f"rank {rank} of {world}, accuracy {right.mean():.4f}, "
      f"model {hashlib.sha256(w.tobytes()).hexdigest()}", flush=True)
