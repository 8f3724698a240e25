"""What a theorem is about: a network, a function, data, a training run, a measure, a family."""

from typing import TypeAlias

from .dataset import Dataset as Dataset
from .kinds import Family as Family
from .kinds import Measure as Measure
from .kinds import Spectrum as Spectrum
from .kinds import Target as Target
from .kinds import Training as Training
from .network import Network as Network

Subject: TypeAlias = Network | Target | Dataset | Training | Measure | Family
