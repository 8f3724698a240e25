# %% [markdown]
# # The edge of stability
#
# On a quadratic, gradient descent with step η diverges once the largest curvature exceeds 2/η. Networks do
# something stranger: the curvature *grows* until it reaches 2/η, and stays there, while the loss goes on
# falling. Watch it happen in a plain training loop of PyTorch.

# %%
import numpy as np
import torch
from torch import nn

import ftheta as ft
from ftheta.logic import Axis, Curves, Series

torch.manual_seed(0)
x = torch.linspace(-1, 1, 40)[:, None]
y = torch.sin(6 * x)
model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
eta = 0.05
optimiser = torch.optim.SGD(model.parameters(), lr=eta)


def loss():
    return nn.functional.mse_loss(model(x), y)


watch = ft.watch(model, optimiser, loss=loss, every=50, file=None, page=None)
for _ in range(4000):
    optimiser.zero_grad()
    value = loss()
    value.backward()
    optimiser.step()
    watch.step(value)
watch.close()
seen = watch.observations
last = seen[-1]
f"{len(seen)} looks; 2/η = {last.limit:g}; sharpness at the end {last.sharpness:.2f}, loss {value.item():.2g}"

# %%
steps = np.array([look.step for look in seen])
sharpness = np.array([look.sharpness for look in seen])
Curves(
    "sharpness along training",
    Axis("step"),
    Axis("largest eigenvalue of the Hessian"),
    (
        Series("sharpness", steps, sharpness),
        Series("2/η", steps, np.full(len(steps), 2 / eta), "bound"),
    ),
)

# %% [markdown]
# The same statement where it is a theorem, on a quadratic: with steps beyond 2/L the iterates diverge.

# %%
ft.check("gd-step-regimes")

# %%
assert sharpness.max() > 1.5 * sharpness[0] and sharpness.max() > 0.9 * 2 / eta
assert sharpness.max() < 1.2 * 2 / eta
