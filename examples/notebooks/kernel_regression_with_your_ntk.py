# %% [markdown]
# # Kernel regression with your network's NTK
#
# A network that is wide enough trains like a linear model whose features are the gradients of its output at the
# start. The kernel of these features is the neural tangent kernel. Here it is, of an actual network, used for
# regression, beside the network trained in earnest.

# %%
import numpy as np

import ftheta as ft
from ftheta.kernels.linearisation import linearised
from ftheta.logic import Axis, Curves, Series
from ftheta.networks import random_mlp

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-1, 1, (24, 1)), axis=0)
y = np.sin(4 * x[:, 0]) + 0.1 * rng.normal(size=24)
grid = np.linspace(-1, 1, 201)[:, None]
net = ft.Network.described(random_mlp(rng, (1, 256, 256, 1), "tanh", gain=1.0, bias=0.5))
K = ft.ntk(net, x)
f"kernel matrix {K.shape}, eigenvalues from {np.linalg.eigvalsh(K)[0]:.3g} to {np.linalg.eigvalsh(K)[-1]:.3g}"

# %% [markdown]
# Ridge regression with that kernel, on what the untrained network leaves of the targets, is two lines of NumPy.

# %%
before, start = (np.asarray(net(rows))[:, 0] for rows in (x, grid))
ridge = start + ft.ntk(net, grid, x) @ np.linalg.solve(K + 0.5 * np.eye(24), y - before)

# %% [markdown]
# `linearised` solves the training of the linearised network in closed form, for all times at once. Its limit is
# kernel regression without a ridge, which goes through every row and swings in between; training that stops
# earlier does not.

# %%
model = linearised(net, x, y, test=grid)
f"largest stable step {model.largest_step:.3g}; alignment of the target with the kernel {model.alignment:.3f}"

# %% [markdown]
# Now the network itself, all weights trained by plain gradient descent, and the linearised one after the same
# number of steps.

# %%
step = 0.5 * model.largest_step
steps = 2000
trained = ft.fit(net, (x, y[:, None]), "half-squared", "gd", step=step * len(x), steps=steps)
reached = np.asarray(trained.network(grid))[:, 0]
# the loss is a mean over rows: a step on it is one on ½‖f − y‖² that is shorter by their number
curves = Curves(
    "the network and its linearisation",
    Axis("x"),
    Axis("f(x)"),
    (
        Series("rows", x[:, 0], y, "measured", "points"),
        Series("network, trained", grid[:, 0], reached, "measured"),
        Series("NTK, the same time", grid[:, 0], model.predict(step * steps), "bound"),
        Series("NTK ridge regression", grid[:, 0], ridge, "other"),
    ),
)
curves

# %%
gap = np.abs(reached - model.predict(step * steps)).max()
f"largest distance of the network from its linearisation: {gap:.3f}, targets between −1 and 1"

# %%
assert gap < 0.5
