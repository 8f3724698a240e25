"""Knobs that several theorems have: one range, one meaning."""

from typing import Annotated

from ftheta.logic import Knob
from ftheta.networks.activations import ACTIVATIONS

# ---- networks --------------------------------------------------------------------------------------------------------

HiddenActivation = Annotated[
    str, Knob(says="activation of hidden layers", symbol="σ", choices=tuple(ACTIVATIONS))
]

ClassifierKind = Annotated[
    str, Knob(says="which classifier", symbol="f", choices=("random", "linear"))
]
ClassifierInputs = Annotated[int, Knob(2, 64, "number of inputs", "d", log=True, most=784)]
ClassifierWidth = Annotated[
    int, Knob(2, 64, "neurons in each hidden layer", "w", log=True, most=256)
]

# ---- pieces ----------------------------------------------------------------------------------------------------------

WindowRadius = Annotated[
    float, Knob(0.1, 10, "half-width of the window", "R", log=True, least=1e-3, most=1e3)
]
SliceRadius = Annotated[
    float, Knob(0.1, 10, "half-width of the slice", "R", log=True, least=1e-3, most=1e3)
]
MostCells = Annotated[
    int, Knob(100, 100_000, "cells at most", "N", log=True, least=1, most=300_000)
]
MostWork = Annotated[
    int,
    Knob(10**6, 2 * 10**9, "elementary steps at most", "S", log=True, least=1000, most=6 * 10**9),
]

# ---- laws ------------------------------------------------------------------------------------------------------------

Coordinates = Annotated[int, Knob(1, 4, "number of coordinates", "d", most=16)]
BumpDistance = Annotated[float, Knob(0, 3, "distance of the outer bumps from 0", "a", most=100)]
BumpSpread = Annotated[
    float, Knob(0, 2, "standard deviation of each bump; 0 is discrete data", "s", most=100)
]
