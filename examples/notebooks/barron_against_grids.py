# %% [markdown]
# # Barron against grids
#
# Approximation on a grid costs n^(−s/d): in twenty dimensions nothing is affordable. Networks whose ridges are
# chosen by the Fourier transform of the function have the rate n^(−1/2) in the mean square, whatever the
# dimension.

# %%
import jax.numpy as jnp
import numpy as np

import ftheta as ft
from ftheta.logic import Axis, Curves, Series
from ftheta.subjects import Spectrum, Target

d = 20
half = (d**-0.5,) * d
bell = Target(
    "Gaussian",
    lambda x: jnp.exp(-jnp.vdot(x, x) / 2),
    tuple(-t for t in half),
    half,
    spectrum=Spectrum.gaussian(d),
)
f"Barron norm in {d} dimensions: {float(ft.barron_norm('gaussian', dimension=d)):.4f}"

# %%
counts = np.array([60, 125, 250, 500])
made = [
    ft.approximate(bell, None, 1e-6, norm="L2", method="barron", neurons=int(n)) for n in counts
]
errors = np.array([each.measured for each in made])
lo = [each.error.lo for each in made]
hi = [each.error.hi for each in made]
Curves(
    "twenty variables",
    Axis("neurons n, or points of a grid", "log"),
    Axis("error in the mean square", "log"),
    (
        Series("network, with its interval", counts, errors, "measured", "line", lo, hi),
        Series("n^(−1/2)", counts, errors[0] * (counts / counts[0]) ** -0.5, "reference"),
        Series("n^(−1/20), a grid", counts, errors[0] * (counts / counts[0]) ** -0.05, "other"),
    ),
)

# %% [markdown]
# The theorem that says so, with its constant:

# %%
ft.check("barron-rate")

# %% [markdown]
# And the other side: on the whole ball of smooth functions no method beats the grid by more than a constant.

# %%
ft.check("sobolev-vs-barron")

# %%
rate = np.polyfit(np.log(counts), np.log(errors), 1)[0]
assert rate < -0.3
