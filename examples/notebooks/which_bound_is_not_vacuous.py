# %% [markdown]
# # Which bound is not vacuous?
#
# Generalisation bounds are famous for saying that at most 300 % of the answers are wrong. Eleven of them, with
# numbers, for one network: those that use rows it never saw, and those that only look at its training.

# %%
import numpy as np

import ftheta as ft
from ftheta.networks import random_mlp

rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 2))
y = (x[:, 0] * x[:, 1] > 0).astype(int)
train, test = (x[:2000], y[:2000]), (x[2000:], y[2000:])
start = random_mlp(rng, (2, 32, 2), "relu")
net = ft.fit(start, train, "cross-entropy", step=0.01, steps=400).network
bounds = ft.risk_bounds(net, train, test, delta=0.05, prior=start)
bounds

# %% [markdown]
# The bounds by rows that were not seen are all useful. Of those that look at the training alone, VC dimension
# and norms say nothing (they are marked), while PAC-Bayes, which measures how far the weights went from where
# they began, does.
#
# What helps: begin the second half of the training from a network trained on the first half, and let that be
# the prior.

# %%
first, second = (x[:1000], y[:1000]), (x[1000:2000], y[1000:2000])
half = ft.fit(start, first, "cross-entropy", step=0.01, steps=400).network
whole = ft.fit(half, second, "cross-entropy", step=0.001, steps=50).network
sharper = ft.risk_bounds(whole, second, prior=half)
name = "PAC-Bayes, kl inverse"
f"{name}: {bounds[name].value:.3f} from a random start, {sharper[name].value:.3f} from a prior that has learnt"

# %% [markdown]
# Where the classical bound comes from, with the control that breaks it:

# %%
ft.check("vc-uniform-convergence")

# %%
assert bounds["VC"].vacuous and not bounds[name].vacuous
assert sharper[name].value < bounds[name].value
