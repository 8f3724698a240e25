# %% [markdown]
# # The regions of your PyTorch classifier
#
# A ReLU network is affine on each of finitely many polygons. Here they are, of a small classifier trained with
# PyTorch: every polygon exactly, and the decision boundary cut along them.

# %%
import torch
from torch import nn

import ftheta as ft
from ftheta.pieces import Box

moons = ft.load("moons,n=300")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
x = torch.tensor(moons.x, dtype=torch.float32)
y = torch.tensor(moons.y)
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(300):
    optimiser.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimiser.step()
f"loss {loss.item():.3f}, accuracy {(model(x).argmax(1) == y).float().mean():.1%}"

# %% [markdown]
# `ft.pieces` takes the module as it is. The weights count at their exact binary values, and every sign is
# either certain by an error bound or decided in rationals, so the number of cells is a fact and not a count of
# samples.

# %%
cells = ft.pieces(model, Box([-2, -1.5], [3, 2]))
f"{len(cells)} regions; complete: {cells.certificate.complete}; {cells.certificate.basis}"

# %%
cells.chart("class", boundary=True, data=moons)

# %% [markdown]
# Colour by the steepness of the network instead: each region has one gradient. The largest of them is the
# Lipschitz constant on the box, exactly, where a sample of gradients only gives a lower bound.

# %%
cells.chart("slope", boundary=True)

# %%
constant = cells.lipschitz(norm=2)
dead = cells.activity.dead.hi
f"Lipschitz constant on the box: {constant.lo:.6f} to {constant.hi:.6f}; dead neurons: {dead:g}"

# %%
assert cells.certificate.complete and len(cells) > 30
assert constant.hi - constant.lo < 1e-6 * constant.hi
