"""The networks of an audit: read here, and again in every worker."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic import SubjectError, UnknownSubjectError
from ftheta.subjects import Dataset, Network
from ftheta.subjects.dataset import LabelsError

from .origins import Origin
from .packing import pack, unpack
from .part import NETWORK


@dataclass(frozen=True)
class Recipe:
    """What a network is made from: words, or a subject itself; `labels` and `until` as for `ftheta.load`; `train` are
    the rows it was trained on; `role` as for `ftheta.Network`; a `trusted` file may be run by the runtime of its kind.

    `network` is made once in a process; to another process the recipe goes without it.
    """

    model: Any
    data: Any = None
    labels: str | None = None
    until: str | None = None
    train: Any = None
    role: str = ""
    trusted: bool = False

    @property
    def in_words(self) -> bool:
        given = (self.model, *(part for part in (self.data, self.train) if part is not None))
        return all(isinstance(part, (str, Path)) for part in given)

    def __reduce__(self) -> tuple[Any, ...]:
        shared = (self.data, self.labels, self.until, self.train, self.role, self.trusted)
        return Recipe, (self.model, *shared)

    @cached_property
    def network(self) -> Network:
        """The network with its data. Data that cannot be used are left out, labels alone where the rows can be, and the
        network says why; words that name nothing are an error."""
        network = self._read_network()
        if self.until is None and not isinstance(self.model, Network):
            network = replace(network, origin=Origin(self.model, self.trusted))
        if self.role:
            network = network.with_role(self.role)
        network = _add_data(
            network, "data", lambda: self._read_data(self.data, network), Network.with_data
        )
        return _add_data(
            network,
            "training data",
            lambda: self._read_data(self.train, network),
            Network.with_train_data,
        )

    @property
    def network_or_rows(self) -> Network:
        """The network; where it cannot be used and there are data, one that computes nothing and says why, so that what
        is to be said of the data alone can be said."""
        try:
            return self.network
        except UnknownSubjectError:
            raise
        except SubjectError as error:
            data = self._usable_rows(self.data)
            if data is None:
                raise
            named = str(self.model) if isinstance(self.model, (str, Path)) else ""
            name = named or type(self.model).__name__
            return _stand_in(name, error, data, self._usable_rows(self.train))

    def _read_network(self) -> Network:
        from ftheta.networks.modules import input_size, is_torch  # imports JAX
        from ftheta.subjects.resolve import load  # imports readers of every kind

        example = None
        is_made = callable(self.model) and not isinstance(self.model, Network)
        if is_torch(self.model) or (is_made and input_size(self.model) is None):
            example = self._example
        try:
            found = load(self.model, example, takes=(Network,), until=self.until)
        except SubjectError as error:
            if example is None:
                raise
            try:  # the first layer may say another shape than the rows have
                found = load(self.model, None, takes=(Network,), until=self.until)
            except SubjectError:
                raise _refused_rows(error) from error
        return _of(Network, found)

    @property
    def _example(self) -> tuple[Any, ...] | None:
        """The shape of one input, of torch with its batch axis: a module does not say it, the rows of the data do, also
        where they cannot be used. A dictionary of arrays has one for each argument of its `forward`: then the first row
        of each."""
        from ftheta.networks.modules import is_torch

        if isinstance(self.data, dict) and is_torch(self.model):
            names = [name for name in signature(self.model.forward).parameters if name in self.data]
            if len(names) > 1:
                return tuple(np.asarray(self.data[name])[:1] for name in names)
        shape = self._row_shape()
        if shape is None:
            return None
        return (1, *shape) if is_torch(self.model) else shape

    def _row_shape(self) -> tuple[int, ...] | None:
        """The shape of one row of the data."""
        try:
            data = self._read_data(self.data)
        except LabelsError as error:
            data = error.rows
        except UnknownSubjectError:
            raise
        except SubjectError:
            given = self.data[0] if isinstance(self.data, tuple) else self.data
            found = given if isinstance(given, np.ndarray) else None
            return None if found is None or found.ndim < 2 else found.shape[1:]
        return None if data is None else data.x.shape[1:]

    def _usable_rows(self, given: Any) -> Dataset | None:
        """The data, without labels that cannot be used; None where nothing can be."""
        try:
            return self._read_data(given)
        except LabelsError as error:
            return error.rows
        except UnknownSubjectError:
            raise
        except SubjectError:
            return None

    def _read_data(self, given: Any, network: Network | None = None) -> Dataset | None:
        from ftheta.subjects.resolve import load

        if given is None:
            return None
        names = () if network is None else tuple(name for name, _ in network.parts)
        return _of(Dataset, load(given, takes=(Dataset,), labels=self.labels, parts=names))


def _refused_rows(error: SubjectError) -> SubjectError:
    """The error of a network that was made for the rows of the data."""
    remedy = (
        "call it on one row of the data by hand: it has to take one, alone or as a batch of one"
    )
    return SubjectError(error.what, where=error.where, got=error.got, remedy=remedy)


def _add_data(
    network: Network,
    which: str,
    read: Callable[[], Dataset | None],
    add: Callable[[Network, Dataset | None], Network],
) -> Network:
    """The network with data, with their rows and the reason why their labels cannot be used, or with the reason why
    they cannot be its data."""
    try:
        return add(network, read())
    except UnknownSubjectError:
        raise
    except LabelsError as error:
        network = _add_data(network, which, lambda: error.rows, add)
        return _say_unusable(network, f"labels of the {which}", error.alone)
    except SubjectError as error:
        return _say_unusable(network, which, error)


def _say_unusable(network: Network, which: str, error: SubjectError) -> Network:
    return replace(network, data_errors=(*network.data_errors, (which, error)))


def _stand_in(name: str, error: SubjectError, data: Dataset, train: Dataset | None) -> Network:
    """In the place of a network that cannot be used: it takes rows of the data, and has an output for each class."""
    fits = train is not None and train.x.shape[1:] == data.x.shape[1:]
    return Network(
        name,
        partial(_compute_nothing, _count_classes(data)),
        {},
        data.x.shape[1:],
        data=data,
        train_data=train if fits else None,
        data_errors=((NETWORK, error),),
    )


def _count_classes(data: Dataset) -> int:
    """How many the labels of the data count, or 1 where they are no classes."""
    y = data.y
    if y is None or y.ndim != 1 or y.dtype.kind != "i" or not 0 <= y.min() <= y.max() < len(data):
        return 1
    return int(y.max()) + 1


def _compute_nothing(outputs: int, params: Any, x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.zeros(outputs)


def _of(kind: Any, subject: Any) -> Any:
    if not isinstance(subject, kind):
        got = f"{subject.name}, a {type(subject).__name__}"
        raise UnknownSubjectError(f"A {kind.__name__} is needed here.", got=got)
    return subject


def pickle_networks(networks: tuple[Network, ...]) -> bytes | None:
    """The networks for another process, or None where they do not pickle."""
    return pack(networks)


def unpickle_networks(data: bytes) -> tuple[Network, ...]:
    """The networks that were packed."""
    return tuple(
        part.network_or_rows if isinstance(part, Recipe) else part for part in unpack(data)
    )
