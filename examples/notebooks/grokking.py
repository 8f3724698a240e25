# %% [markdown]
# # Grokking
#
# A network learns a table of addition modulo 23 from half of its entries. The entries that it is shown it gives back
# after some fifty steps. The others it gets right a thousand steps later.

# %%
import ftheta as ft

result = ft.check("grokking")
result

# %% [markdown]
# The curves: accuracy on the entries it was shown, and on those it was not. The step between the two is the
# delay.

# %%
result.charts[0]

# %%
"; ".join(f"{name} = {value}" for name, value in result.numbers.items())

# %% [markdown]
# Weight decay is what drives the second phase in this setting; `ftheta sweep examples/grokking_p97.toml` runs a
# whole grid of it, and the preset `what controls the delay` compares a few values.

# %%
assert result.verdict.value == "consistent"
