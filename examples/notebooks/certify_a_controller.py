# %% [markdown]
# # Certify a controller
#
# A network steers a cart: state (position, velocity), force u = f(state). Does it bring *every* start of a box
# closer to rest, and never push harder than allowed? Simulation can only say "not in the runs that I tried".

# %%
import numpy as np

import ftheta as ft
from ftheta.logic import Axis, Curves, Series
from ftheta.networks import Dense, Description, random_mlp

A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0], [0.1]])
rng = np.random.default_rng(0)
states = rng.uniform(-1, 1, (2000, 2))
force = -1.0 * states[:, :1] - 1.5 * states[:, 1:]  # a linear controller that the network imitates
net = ft.fit(random_mlp(rng, (2, 16, 1), "relu"), (states, force), step=0.01, steps=1500).network
box = ([-1.0, -1.0], [1.0, 1.0])

# %% [markdown]
# The force on the whole box, from both sides: no input does more, and some input does nearly as much.

# %%
u = ft.range(net, box)
f"the force stays between {u.lo[0]:.4f} and {u.hi[0]:.4f}"

# %% [markdown]
# Where one step leads from anywhere in the box:

# %%
reached = ft.reach(net, (A, B), box)
f"position in [{reached.lo[0]:.4f}, {reached.hi[0]:.4f}], velocity in [{reached.lo[1]:.4f}, {reached.hi[1]:.4f}]"

# %% [markdown]
# Stability: the energy V(x) = xᵀPx falls at every step, at all states of the box outside a small square around
# rest. That is a question about infinitely many states; the answer is a proof, or a state at which it is false.

# %%
P = np.array([[2.5, 1.0], [1.0, 1.5]])
small = ([-0.2, -0.2], [0.2, 0.2])
answer = ft.verify(net, ft.Decreases(P, (A, B), box, outside=small), budget="60s")
f"{answer.answer}: no counter-example, after {answer.subproblems} boxes" if answer.holds else f"{answer.answer}"

# %%
path = [np.array([0.5, 0.5])]
for _ in range(80):
    path.append(A @ path[-1] + B @ np.asarray(net(path[-1])))
path = np.array(path)
Curves(
    "one run of the closed loop",
    Axis("position"),
    Axis("velocity"),
    (Series("states", path[:, 0], path[:, 1], "measured"),),
)

# %% [markdown]
# The same controller with its sign turned round pushes the cart away, and the search says where.

# %%
*hidden, last = net.layers
turned = Description((*hidden, Dense(-last.weight, -last.bias)))
wrong = ft.verify(turned, ft.Decreases(P, (A, B), box, outside=small), budget="60s")
state = [float(entry) for entry in wrong.witness.x]
f"{wrong.answer}: at the state {state} the energy does not fall"

# %%
assert answer.holds and not wrong.holds
