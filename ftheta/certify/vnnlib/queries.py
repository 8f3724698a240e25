"""What a VNN-LIB file asks: networks with their tensors, and a formula about the numbers in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from ftheta.logic.errors import SubjectError

from ..formulas import And, Formula, holds
from ..normal_form import make_cases
from ..questions import Question, Row
from .expressions import MINUS_ONE, ONE, Product


@dataclass(frozen=True)
class Tensor:
    """An array of a network: an input, an output, or what a hidden `node` computes, by its name in the ONNX file.

    An `initialized` input has the value that the network's file gives it.
    """

    name: str
    element_type: str
    shape: tuple[int, ...]
    node: str = ""
    initialized: bool = False

    @property
    def size(self) -> int:
        return prod(self.shape)

    def element(self, k: int) -> str:
        """How entry number `k`, row by row, is written."""
        if not self.shape:
            return self.name
        indices = list[int]()
        for n in reversed(self.shape):
            k, index = divmod(k, n)
            indices.append(index)
        return f"{self.name}[{','.join(map(str, reversed(indices)))}]"


@dataclass(frozen=True)
class Interface:
    """A network that a query is about. It may be declared equal to an earlier one (then both are one file), or
    isomorphic to it."""

    name: str
    inputs: tuple[Tensor, ...]
    hidden: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    equal_to: str = ""
    isomorphic_to: str = ""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.inputs + self.hidden + self.outputs


@dataclass(frozen=True)
class Query:
    """Is there an input of all networks such that the `formula` holds of it and of what they compute?

    Inputs are numbered through all networks: the entries of all input tensors in the order of their declaration, row
    by row. Outputs are numbered likewise, of each network first its output tensors and then its hidden ones. The last
    outputs are `products`, which stand for terms of the formula that are not linear: each is a product of affine forms
    of inputs and of outputs before it. `computed_at` and `multiplied_at` say where the first arithmetic of the file is
    that rounds in floats, and the first product.
    """

    where: str
    version: tuple[int, int]
    networks: tuple[Interface, ...]
    formula: Formula = field(repr=False)
    products: tuple[Product, ...] = ()
    computed_at: str = ""
    multiplied_at: str = ""

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return tuple(tensor for network in self.networks for tensor in network.inputs)

    @property
    def output_tensors(self) -> tuple[Tensor, ...]:
        return tuple(
            tensor for network in self.networks for tensor in network.outputs + network.hidden
        )

    @property
    def inputs(self) -> int:
        return sum(tensor.size for tensor in self.input_tensors)

    @property
    def outputs(self) -> int:
        """Numbers that the networks compute, without products of them."""
        return sum(tensor.size for tensor in self.output_tensors)

    @property
    def element_types(self) -> frozenset[str]:
        return frozenset(
            tensor.element_type for network in self.networks for tensor in network.tensors
        )

    @property
    def is_plain(self) -> bool:
        """Whether it is about one network, without hidden nodes and products."""
        return len(self.networks) == 1 and not self.networks[0].hidden and not self.products

    def name_input(self, i: int) -> str:
        """How the file calls an input."""
        return self._name(self.input_tensors, i)

    def name_output(self, j: int) -> str:
        return self._name(self.output_tensors, j)

    def _name(self, tensors: Sequence[Tensor], k: int) -> str:
        for tensor in tensors:
            if k < tensor.size:
                return f"{tensor.name}_{k}" if self.version[0] == 1 else tensor.element(k)
            k -= tensor.size
        raise IndexError(k)

    def extend(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> list[Fraction]:
        """The outputs `y` of the networks at `x`, and the products."""
        extended = list(y)
        for product in self.products:
            extended.append(product.value(x, extended))
        return extended

    def admits(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
        """Whether inputs with the outputs of the networks are a witness of *sat*, decided exactly."""
        if len(x) != self.inputs or len(y) != self.outputs:
            raise SubjectError(
                "The point does not fit the query.",
                where=self.where,
                got=f"{len(x)} inputs and {len(y)} outputs",
                remedy=f"give {self.inputs} inputs and {self.outputs} outputs",
            )
        return holds(self.formula, x, self.extend(x, y))

    def question(self, initial: Mapping[str, Sequence[Fraction]] | None = None) -> Question:
        """The query as boxes of inputs and rows; products are further outputs.

        `initial` has the values of inputs that are declared as initialized, by the names of their tensors.
        """
        formula = And((self.formula, *self._initial_rows(initial or {})))
        cases = make_cases(formula, self.inputs, self.name_input, self.where)
        return Question(self.inputs, self.outputs + len(self.products), cases)

    def _initial_rows(self, initial: Mapping[str, Sequence[Fraction]]) -> Iterator[Row]:
        first = 0
        for tensor in self.input_tensors:
            if tensor.initialized:
                values = initial.get(tensor.name, ())
                if len(values) != tensor.size:
                    raise SubjectError(
                        f"The input {tensor.name} takes its value from the network's file.",
                        where=self.where,
                        got=f"{len(values)} values for {tensor.size} entries",
                        remedy="give the network's file with the query",
                    )
                for k, value in enumerate(values, first):
                    yield Row({k: ONE}, {}, value)
                    yield Row({k: MINUS_ONE}, {}, -value)
            first += tensor.size
