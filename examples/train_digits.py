"""Train the small network that ships with ftheta (`digits-mlp`) and write it with its test set.

Data: scikit-learn's handwritten digits, 8 × 8 pixels scaled to [0, 1]; one row in five is held out. Run from the
project's root with the development environment:  python examples/train_digits.py
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

from ftheta.networks import Dense, Description, random_mlp
from ftheta.networks.files import save

HERE = Path(__file__).resolve().parent.parent / "ftheta" / "subjects" / "data"


def split(rng: np.random.Generator):
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    x = digits.data[order] / 16.0
    y = digits.target[order]
    held_out = len(y) // 5
    return (x[held_out:], y[held_out:]), (x[:held_out], y[:held_out])


def train(net: Description, x: np.ndarray, y: np.ndarray, steps: int = 600) -> Description:
    optimiser = optax.adamw(1e-2, weight_decay=1e-2)

    def loss(params):
        return optax.softmax_cross_entropy_with_integer_labels(net.apply(params, x), y).mean()

    def step(state, _):
        params, opt = state
        updates, opt = optimiser.update(jax.grad(loss)(params), opt, params)
        return (optax.apply_updates(params, updates), opt), None

    params = jax.tree.map(jnp.asarray, net.params)
    (params, _), _ = jax.lax.scan(step, (params, optimiser.init(params)), length=steps)
    return Description(
        tuple(
            Dense(np.asarray(W), np.asarray(b), a.activation)
            for (W, b), a in zip(params, net.layers)
        )
    )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = split(rng)
    net = train(random_mlp(rng, (64, 32, 32, 10)), x, y)
    accuracy = (np.asarray(net.apply(net.params, x_test)).argmax(-1) == y_test).mean()
    print(f"test accuracy {accuracy:.4f} on {len(y_test)} rows")
    HERE.mkdir(exist_ok=True)
    save(net, HERE / "digits_mlp.npz")
    np.savez_compressed(
        HERE / "digits_test.npz", x=x_test.astype(np.float32), y=y_test.astype(np.int8)
    )
