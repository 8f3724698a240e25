# %% [markdown]
# # A neural ODE against a residual network
#
# A residual network x ← x + v(x)/T is Euler's method for ẋ = v(x). How far is it from the differential
# equation? Of order 1/T, with a constant that can be computed.

# %%
import numpy as np

import ftheta as ft
from ftheta.logic import Axis, Curves, Series

rng = np.random.default_rng(0)
W = rng.normal(size=(4, 4))
b = rng.normal(size=4)
start = rng.normal(size=4)


def network(T):
    x = start
    for _ in range(T):
        x = x + np.tanh(W @ x + b) / T
    return x


limit = network(2**18)
depths = 2 ** np.arange(1, 13)
distances = [np.linalg.norm(network(T) - limit) for T in depths]
Curves(
    "distance of a residual network from its limit",
    Axis("layers T", "log"),
    Axis("‖x_T − x(1)‖", "log"),
    (
        Series("measured", depths, distances),
        Series("proportional to 1/T", depths, 2 * distances[-1] * depths[-1] / depths, "reference"),
    ),
)

# %% [markdown]
# The theorem gives the constant in front of 1/T and checks it on a flow whose solution is known.

# %%
ft.check("neural-ode-limit")

# %% [markdown]
# And a residual network of yours? `ft.check("neural-ode-limit", on=net)` reads its blocks; whether they are
# small enough to be the steps of a flow is one of the hypotheses, which the verdict lists with its number.

# %%
rate = np.polyfit(np.log(depths[4:]), np.log(distances[4:]), 1)[0]
assert abs(rate + 1) < 0.05
