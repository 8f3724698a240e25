"""Train the network `digits-certified` that ships with ftheta: as `digits-mlp`, but by interval bounds within ε = 0.05.

It learns from the rows that are not in `digits-test`. Run from the project's root with the development environment:
python -m examples.train_digits_certified
"""

import numpy as np

import ftheta as ft
from ftheta.networks import Dense, Description, random_mlp
from ftheta.networks.files import save
from ftheta.training import RobustLoss

from .train_digits import HERE, split

if __name__ == "__main__":
    (x, y), (x_test, y_test) = split(np.random.default_rng(0))
    start = random_mlp(np.random.default_rng(3), (64, 32, 32, 10), "relu")
    robust = RobustLoss("ibp", 0.05, clip=(0, 1), ramp=(200, 1000))
    net = ft.fit(
        start, (x, y), "cross-entropy", step=0.005, steps=2000, batch=100, robust=robust
    ).network
    layers = [
        Dense(*(np.float32(part).astype(float) for part in (a.weight, a.bias)), a.activation)
        for a in net.layers
    ]
    net = Description(tuple(layers))
    accuracy = (np.asarray(net.apply(net.params, x_test)).argmax(-1) == y_test).mean()
    print(f"test accuracy {accuracy:.4f} on {len(y_test)} rows")
    save(net, HERE / "digits_certified.npz")
