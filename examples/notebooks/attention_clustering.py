# %% [markdown]
# # Attention clusters its tokens
#
# Without the other parts of a transformer, attention moves tokens on a sphere towards one another. Many layers
# are a long time, and what is left in the end is one cluster. Written out with NumPy, then as the theorem about
# it.

# %%
import numpy as np

import ftheta as ft
from ftheta.logic import Axis, Curves, Series

rng = np.random.default_rng(1)
tokens = rng.normal(size=(32, 3))
tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
dt = 0.1


def walk(beta, layers=4000):
    """The least inner product of two tokens after every layer."""
    x = tokens
    least = []
    for _ in range(layers):
        weights = np.exp(beta * (x @ x.T - 1))
        weights /= weights.sum(1, keepdims=True)
        moved = x + dt * (weights @ x)
        x = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        least.append((x @ x.T).min())
    return np.array(least)


soft, sharp = walk(1.0), walk(4.0)
t = dt * np.arange(1, len(soft) + 1)
Curves(
    "the two tokens that differ most",
    Axis("time (layers × step)", "log"),
    Axis("least inner product"),
    (Series("32 tokens, β = 1", t, soft), Series("32 tokens, β = 4", t, sharp, "other")),
)

# %% [markdown]
# With β = 1 one cluster is there at time 10. With β = 4 a few clusters form as quickly and then stand almost
# still, on different sides of the sphere, until they meet at last: they are *metastable*. A transformer of
# finite depth may well end in between.

# %% [markdown]
# The theorem: the flow is the gradient ascent of an interaction energy, so that the energy never falls; and
# from almost every start the tokens meet in one point.

# %%
result = ft.check("attention-particle-flow")
result

# %%
result.charts[0]

# %%
assert soft[100] > 0.999 and sharp[400] < 0 < 0.999 < sharp[-1]
assert result.verdict.value != "refuted"
