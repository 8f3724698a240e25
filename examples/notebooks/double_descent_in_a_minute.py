# %% [markdown]
# # Double descent in a minute
#
# More features than rows ought to be a disaster. It is one exactly where the two numbers agree, and beyond that
# the error falls again. Least squares of minimal norm on random features shows it in a few lines of NumPy.

# %%
import numpy as np

import ftheta as ft
from ftheta.logic import Axis, Curves, Series

rng = np.random.default_rng(0)
n, d = 60, 20
teacher = rng.normal(size=d) / np.sqrt(d)


def draw(rows):
    x = rng.normal(size=(rows, d))
    return x, x @ teacher + 0.3 * rng.normal(size=rows)


x, y = draw(n)
test_x, test_y = draw(2000)
counts = [5, 10, 20, 30, 40, 50, 55, 60, 65, 70, 80, 100, 150, 250, 500, 1000]
errors = []
for features in counts:
    repeated = []
    for _ in range(12):
        w = rng.normal(size=(d, features)) / np.sqrt(d)
        phi = np.maximum(x @ w, 0)
        solution = np.linalg.pinv(phi) @ y  # of all least-squares solutions that of least norm
        repeated.append(np.mean((np.maximum(test_x @ w, 0) @ solution - test_y) ** 2))
    errors.append(np.median(repeated))
Curves(
    "test error of least squares on random features",
    Axis("features", "log"),
    Axis("mean squared error", "log"),
    (
        Series("median of 12 draws", counts, errors),
        Series("guessing 0", counts, np.full(len(counts), np.mean(test_y**2)), "reference"),
    ),
)

# %% [markdown]
# The theorem about it has the limit of many rows and features in closed form, and the negative control: with a
# ridge of the right size the peak is gone.

# %%
result = ft.check("double-descent")
result

# %%
peak = counts[int(np.argmax(errors))]
assert 50 <= peak <= 70 and errors[-1] < max(errors) / 5
assert result.verdict.value != "refuted"
