"""A network: any JAX function with parameters, with a description where there is one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.lazy import jax, jnp, tree_leaves
from ftheta.logic.errors import SubjectError, suggest
from ftheta.networks.biases import PartlyBiased, has_all_biases
from ftheta.networks.description import Description, is_realisation
from ftheta.networks.scaling import ScaledLayers

from .dataset import Dataset
from .fingerprint import digest, digest_function
from .matching import match_labels

if TYPE_CHECKING:
    from ftheta.networks.programs.importing import Imported


@dataclass(frozen=True, eq=False)
class Network:
    r"""$f_\theta$: `apply(params, x)` for one input `x` of shape `input_shape`.

    `params` are kept as float64 NumPy arrays whatever their dtype was. `data`, where given, is data the
    network is to be judged on; theorems about a network and data ask for it by a hypothesis. `description`, where
    there is one, describes the function of `x`; it has the same `params` unless the inputs are scaled first: see
    `behind_scaling`. `classes` are the names of its outputs, in their order, where they are known. `train_data`, where
    given, is the data it was trained on. `training_parts` are layers, in words, that were in training mode when the
    network was handed over, where that makes a difference; it is read as it is after training.

    Several inputs are one vector here: `parts` are their names and shapes, in its order, and an `.npz` file or a
    dictionary with an array of each name is its data. `data_errors` say which data could not become its own, and why.
    `casts` are the nodes of an imported program after which it computes in another type; `apply` is the real function.
    `origin` is what an audit has read it from, words or a module, where that may be run beside it.

    `role` says what the network is in a generative model, one of `ROLES`. The rows that such a model is to imitate are
    no inputs of a generator, decoder, score or velocity: they are kept as `law`, and `data` stays empty.
    """

    name: str
    apply: Callable[[Any, Any], Any]
    params: Any
    input_shape: tuple[int, ...]
    description: Description | None = None
    data: Dataset | None = None
    classes: tuple[str, ...] = ()
    role: str = ""
    law: Dataset | None = None
    train_data: Dataset | None = None
    training_parts: tuple[str, ...] = ()
    parts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    data_errors: tuple[tuple[str, SubjectError], ...] = ()
    casts: tuple[str, ...] = ()
    origin: Any = None

    def __post_init__(self) -> None:
        if self.role and self.role not in ROLES:
            raise SubjectError(
                "A network has one of these roles in a generative model.",
                where=self.name,
                got=self.role,
                remedy=suggest(self.role, ROLES, f"give one of {', '.join(ROLES)}"),
            )

    def __repr__(self) -> str:
        """Its name, shapes and size; arrays are not written out."""
        shapes = " → ".join(
            "×".join(map(str, shape)) or "1" for shape in (self.input_shape, self.output_shape)
        )
        data = "" if self.data is None else f", data {self.data.name} ({len(self.data):,} rows)"
        return f"Network({self.name!r}, {shapes}, {self.parameters:,} parameters{data})"

    @classmethod
    def described(cls, layers: Description | ScaledLayers, name: str = "network") -> "Network":
        """A network from its layers; where they stand behind a scaling, the description is of both together."""
        description = layers.folded_layers if isinstance(layers, ScaledLayers) else layers
        made = layers if has_all_biases(layers) else PartlyBiased(layers)
        return cls(name, made.apply, made.params, (layers.widths[0],), description)

    @classmethod
    def of(
        cls,
        function: Any,
        example: Any = None,
        name: str = "",
        *,
        output: int | str | None = None,
        role: str = "",
    ) -> "Network":
        """A network from a JAX callable, or a module of equinox or flax NNX, and one example input or its shape.

        The example may be a dictionary, a tuple or any tree of arrays or shapes: several inputs, which are one vector
        to the network (`parts`). An array of whole numbers is one of token ids. `output` is the name or the number of
        the one output to take where there are several. Without an example the first layer has to say what it takes.

        Modules are read as they are used after training: dropout is off, batch normalisation uses its running
        statistics. A pair of an equinox module and its state is a module too. For flax, a first axis of length 1 is a
        batch. A chain of dense layers is read as its list of layers, and is that list from then on; of a function that
        has no parameters, the matrices and vectors that it closes over are the parameters then. A module of torch is
        exported with the example, which is a batch of one: as by `ftheta.load`. `role` is that in a generative model.
        """
        net = cls._read(function, example, name, output)
        return net.with_role(role) if role else net

    @classmethod
    def _read(cls, function: Any, example: Any, name: str, output: int | str | None) -> "Network":
        from ftheta.networks.dense_chains import read_dense_chain
        from ftheta.networks.modules import (
            is_nnx,
            is_stateful,
            is_torch,
            split,
            split_nnx,
            stated_shape,
        )
        from ftheta.networks.packing import choose_output, packing_of, shape_of

        example = stated_shape(function) if example is None else example
        if is_torch(function):
            from ftheta.networks.torch.exporting import import_module

            return cls.of_import(
                import_module(function, example, None), name or type(function).__name__
            )
        named = function[0] if is_stateful(function) else function
        name = name or getattr(named, "__name__", type(named).__name__)
        packing = packing_of(example, name)
        shape = shape_of(example) if packing is None else packing.feed.shape
        unpack = {} if packing is None else {"unpack": packing.unpack}
        hint = ""
        if is_nnx(function):
            hint = f"; if it takes batches, give the shape of a batch of one, {(1, *shape)}"
            (apply, params), shape = split_nnx(function, shape, **unpack)
        else:
            apply, params = split(function, shape, **unpack)
        if output is not None:
            apply = choose_output(apply, output, name)
        net = cls(name, apply, params, shape, parts=packing.parts if packing else ())
        net._check(hint)
        layers = read_dense_chain(apply, params, shape)
        if layers is None:
            return net
        read = replace(cls.described(layers, name), parts=net.parts)
        return read if _is_same_network(net, read) else net

    @classmethod
    def of_import(cls, found: "Imported", name: str) -> "Network":
        """A network from what an importer has read: its layers where it is a list of them, else its program."""
        if found.layers is not None:
            net = cls.described(found.layers, name)
        else:
            net = cls.imported(found.apply, found.params, found.input_shape, name, found.outline)
        return replace(
            net, training_parts=found.training_parts, parts=found.parts, casts=found.casts
        )

    @classmethod
    def imported(
        cls,
        apply: Callable[[Any, Any], Any],
        params: Any,
        shape: tuple[int, ...],
        name: str,
        outline: Callable[[Any, Any], Any] | None = None,
    ) -> "Network":
        """A network from `apply(params, x)`, checked: the parameters are finite and the function can be traced.

        `outline`, where given, is traced in its place: a function of the same shapes that is quick to trace.
        """
        net = cls(name, apply, params, shape)
        (net if outline is None else replace(net, apply=outline))._check()
        return net

    def __call__(self, x: Any) -> "jax.Array":
        """The value at one input, in float64; a float32 input is widened, as convolutions take no mixture."""
        with jax.enable_x64(True):
            x = jnp.asarray(x)
            return self.apply(self.params, x.astype(np.float64) if x.dtype.kind == "f" else x)

    def with_data(self, data: Dataset | None) -> "Network":
        """The same network, to be judged on `data`: rows of its input shape, and labels that fit its outputs; of a
        generative model, rows like those that it is to make."""
        if data is None:
            return replace(self, data=None, law=None)
        if self.role in ROWS_OF:
            return replace(self, law=self._fit_law(data))
        return replace(self, data=self._fit_data(data))

    def with_train_data(self, data: Dataset | None) -> "Network":
        """The same network, known to have been trained on `data`."""
        return replace(self, train_data=None if data is None else self._fit_data(data))

    def _fit_data(self, data: Dataset) -> Dataset:
        """The data as rows of the input shape, with labels that are numbers of outputs."""
        rows = data.x.shape[1:]
        if rows != self.input_shape and int(np.prod(rows)) != int(np.prod(self.input_shape)):
            raise SubjectError(
                "The data do not fit the network.",
                where=f"{data.name} on {self.name}",
                got=f"rows of shape {rows}, the network takes {self.input_shape}",
                remedy="give data with one row per input of the network",
            )
        data = replace(data, x=data.x.reshape(len(data), *self.input_shape))
        try:
            return match_labels(
                data, self.output_shape, self.classes, f"{data.name} on {self.name}"
            )
        except SubjectError as error:
            raise data.refuse_labels(error) from None

    def with_role(self, role: str) -> "Network":
        """The same network in this role of a generative model; data that it has stay its data where they fit."""
        return replace(self, role=role, data=None, law=None).with_data(self.data or self.law)

    def _fit_law(self, data: Dataset) -> Dataset:
        """The rows that a generative model is to imitate, flat, if they have as many entries as its role asks for."""
        wanted, says = ROWS_OF[self.role](self)
        rows = data.x.reshape(len(data), -1)
        if rows.shape[1] != wanted:
            raise SubjectError(
                f"The data do not fit the {self.role}.",
                where=f"{data.name} on {self.name}",
                got=f"rows of {rows.shape[1]} entries, not {wanted}",
                remedy=f"a {self.role} {says}",
            )
        return replace(data, x=rows.astype(np.float64))

    def _traceable(self, x: Any) -> "jax.Array":
        """`__call__` as a function: of any other object that it traces JAX writes down the whole `repr`."""
        return self(x)

    @property
    def scaled_layers(self) -> ScaledLayers | None:
        """The layers and the fixed scaling of the inputs before them, where the function is made of these."""
        maker = self._maker
        layers = maker.layers if isinstance(maker, PartlyBiased) else maker
        return layers if isinstance(layers, ScaledLayers) else None

    @property
    def _maker(self) -> Any:
        """The object whose method `apply` is, if it is one."""
        maker = getattr(self.apply, "__self__", None)
        return maker if maker is not None and self.apply == maker.apply else None

    def with_zero_biases(self) -> "Network":
        """The same function with a zero bias, as one more parameter, for each layer that has none."""
        maker = self._maker
        if not isinstance(maker, PartlyBiased):
            return self
        return replace(self, apply=maker.layers.apply, params=maker.with_zeros(self.params))

    def behind_scaling(self) -> "Network":
        r"""The layers behind the fixed scaling of the inputs, with scaled data: the same loss of the same parameters,
        $\mathcal L(\theta)=\frac1n\sum_i\ell(f_\theta(s(x_i)),y_i)$, in which the description has these parameters.
        The network itself where no scaling is known."""
        made_of = self.scaled_layers
        if made_of is None:
            return self
        scale = lambda data: (
            data and replace(data, x=made_of.scaling(np.asarray(data.x, np.float64)))
        )
        layers = made_of.layers
        made = PartlyBiased(layers) if isinstance(self._maker, PartlyBiased) else layers
        same = all(
            np.array_equal(a, b)
            for a, b in zip(jax.tree.leaves(self.params), jax.tree.leaves(made.params))
        )
        description = layers if same else None
        sets = {"data": scale(self.data), "train_data": scale(self.train_data)}
        return replace(self, apply=made.apply, description=description, **sets)

    @cached_property
    def output_shape(self) -> tuple[int, ...]:
        with jax.enable_x64(True):
            return jax.eval_shape(self._traceable, self.example).shape

    @property
    def example(self) -> "jax.ShapeDtypeStruct":
        """The shape and dtype of one input; to be used where JAX computes in float64."""
        return jax.ShapeDtypeStruct(self.input_shape, np.float64)

    @property
    def parameters(self) -> int:
        return sum(np.size(leaf) for leaf in tree_leaves(self.params))

    @cached_property
    def fingerprint(self) -> str:
        if self.description is not None and is_realisation(
            self.apply, self.params, self.description
        ):
            return digest(self.params, [layer.activation for layer in self.description.layers])
        with jax.enable_x64(True):
            return digest(self.params, digest_function(self.apply, self.params, self.example))

    def _check(self, hint: str = "") -> None:
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.params):
            if not np.isfinite(leaf).all():
                raise SubjectError(
                    "A parameter is not finite.",
                    where=f"{self.name}{jax.tree_util.keystr(path)}",
                    got="NaN or infinity",
                    remedy="retrain or repair the weights; every theorem needs finite numbers",
                )
        try:
            with jax.enable_x64(
                True
            ):  # as in every run: JAX may remember constants in the precision it met them in
                output = jax.eval_shape(self._traceable, self.example)
        except SubjectError:
            raise
        except Exception as error:
            raise SubjectError(
                "JAX cannot trace this function.",
                where=self.name,
                got=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                remedy=f"it must be written in jax.numpy and accept {self._describe_input()}{hint}",
            ) from error
        if not hasattr(output, "shape"):
            from ftheta.networks.packing import describe_outputs

            raise SubjectError(
                "A network returns one array.",
                where=self.name,
                got=type(output).__name__,
                remedy=describe_outputs(output),
            )

    def _describe_input(self) -> str:
        if not self.parts:
            return f"one input of shape {self.input_shape}"
        return "inputs of shapes " + ", ".join(f"{name} {shape}" for name, shape in self.parts)


def _count_inputs_but_time(net: Network) -> tuple[int, str]:
    return int(
        np.prod(net.input_shape)
    ) - 1, "takes the entries of a row and then the time, in one vector"


def _count_outputs(net: Network) -> tuple[int, str]:
    return int(np.prod(net.output_shape)), "returns a row"


ROLES = ("generator", "critic", "decoder", "score", "velocity")
"""Of a standard normal latent a point, of a point a number, of a latent the mean of a Gaussian, of a point and the time
the gradient of the log-density of the noised data, of a point and the time its velocity."""
ROWS_OF = {
    "generator": _count_outputs,
    "decoder": _count_outputs,
    "score": _count_inputs_but_time,
    "velocity": _count_inputs_but_time,
}
"""How many entries the rows of the modelled law have, and why."""


def _is_same_network(one: Network, other: Network) -> bool:
    """Whether two networks have inputs and outputs of one shape, as many parameters, where the first has any, and the
    same values at some inputs: a guard against a module that was misread."""
    if (one.input_shape, one.output_shape) != (other.input_shape, other.output_shape):
        return False
    if one.parameters and one.parameters != other.parameters:
        return False
    x = np.random.default_rng(0).normal(size=(8, *one.input_shape))
    return all(np.allclose(one(row), other(row), rtol=1e-9, atol=1e-9) for row in x)
