"""The networks of an audit: read here, and again in every worker."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftheta.logic import SubjectError
from ftheta.subjects import Dataset, Network
from ftheta.subjects.resolve import load


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a network is made from: words, or a subject itself; `labels` and `until` as for `ftheta.load`."""

    model: Any
    data: Any = None
    labels: str | None = None
    until: str | None = None

    @property
    def in_words(self) -> bool:
        return isinstance(self.model, (str, Path)) and (self.data is None or isinstance(self.data, (str, Path)))

    def made(self) -> Network:
        network = _of(Network, load(self.model, takes=(Network,), until=self.until))
        if self.data is None:
            return network
        return network.with_data(_of(Dataset, load(self.data, takes=(Dataset,), labels=self.labels)))


def _of(kind: Any, subject: Any) -> Any:
    if not isinstance(subject, kind):
        raise SubjectError(f"A {kind.__name__} is needed here.", got=f"{subject.name}, a {type(subject).__name__}")
    return subject


def made(recipes: tuple[Recipe, ...]) -> tuple[Network, ...]:
    return tuple(recipe.made() for recipe in recipes)


def pickled(networks: tuple[Network, ...]) -> bytes | None:
    """The networks for another process, or None where they do not pickle. Functions without a name need cloudpickle."""
    try:
        import cloudpickle as pickler  # type: ignore[import-not-found]
    except ImportError:
        pickler = pickle
    try:
        return pickler.dumps(networks)
    except Exception:  # whatever a foreign object raises
        return None


def recalled(data: bytes) -> tuple[Network, ...]:
    """The networks that were packed."""
    return tuple(part.made() if isinstance(part, Recipe) else part for part in pickle.loads(data))
