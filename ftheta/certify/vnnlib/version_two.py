"""VNN-LIB 2.0: several networks with typed tensors, and assertions about their entries."""

import re
from collections.abc import Iterable, Sequence
from math import prod

from ftheta.logic.errors import suggest

from ..formulas import And
from .expressions import Linear, Products
from .forms import Form, FormReader, Symbol, Word
from .queries import Interface, Query, Tensor
from .syntax import PIECES_WITH_INDICES, Source, shorten

FLOATS = (
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
)
INTEGERS = (
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
ELEMENT_TYPES = ("real", *FLOATS, "float4e2m1", *INTEGERS)
"""Types of the standard that are ordered numbers: `real` and those of ONNX."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WITH_BRACKET = re.compile(r'([^\s()\[\];,"]+)\s*\[([^\[\]()]*)\]')
_COMMENT = re.compile(r";[^\n]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MOST_DIGITS_OF_INDEX = 18


def read_version_two(source: Source, version: tuple[int, int]) -> Query:
    """A query of version 2."""
    dialect = _VersionTwo(source)
    reader = FormReader(source, dialect)
    assertions = reader.read()
    dialect.ensure_networks(len(source.text))
    products = tuple(dialect.products.met) if dialect.products else ()
    computed_at = "" if reader.computed_at is None else source.locate(reader.computed_at)
    multiplied_at = "" if reader.multiplied_at is None else source.locate(reader.multiplied_at)
    networks = tuple(dialect.networks)
    return Query(
        source.name, version, networks, And(assertions), products, computed_at, multiplied_at
    )


class _VersionTwo:
    pieces = PIECES_WITH_INDICES

    def __init__(self, source: Source) -> None:
        self.source = source
        self.symbols = dict[str, Symbol]()
        self.mixes_types = False
        self.networks = list[Interface]()
        self.names = dict[str, str]()  # of networks and tensors: what is called so
        self.tensors = dict[
            str, tuple[Tensor, int, int]
        ]()  # with the number of its first entry and the sign: +1 input
        self.products: Products | None = None

    # -- declarations -------------------------------------------------------------------------------------------------

    def declare(self, form: Form) -> None:
        if form.head == "vnnlib-version":
            if self.networks or self.products:
                raise self.source.error(form.position, "The version is the first form of a file.")
            return
        if form.head != "declare-network":
            raise self.source.error(
                form.position,
                "There is no such command in VNN-LIB 2.0.",
                got=shorten(form.head) if form.head else "parentheses without a command",
                remedy=suggest(
                    form.head, ("declare-network", "assert"), "use declare-network and assert"
                ),
            )
        if self.products is not None:
            raise self.source.error(
                form.position,
                "A network is declared behind an assertion.",
                got="declare-network after assert",
                remedy="declare all networks before the first assertion",
            )
        self.networks.append(self.read_network(form))

    def read_network(self, form: Form) -> Interface:
        name = self.new_name(form, "network")
        tensors: dict[str, list[Tensor]] = {
            "declare-input": [],
            "declare-hidden": [],
            "declare-output": [],
        }
        twins: dict[str, list[Word]] = {"equal-to": [], "isomorphic-to": []}
        for part in form.arguments[1:]:
            if isinstance(part, Form) and part.head in tensors:
                tensors[part.head].append(self.read_tensor(part))
            elif isinstance(part, Form) and part.head in twins:
                twins[part.head].append(self.only_word(part, "the name of an earlier network"))
            else:
                raise self.source.error(
                    part.position,
                    "A network is declared by its inputs, hidden nodes and outputs.",
                    got=shorten(part.head if isinstance(part, Form) else part.text),
                    remedy=f"use {', '.join((*twins, *tensors))}",
                )
        for head in ("declare-input", "declare-output"):
            if not tensors[head]:
                raise self.source.error(
                    form.position, f"The network has no {head}.", got=name, remedy="declare one"
                )
        network = Interface(
            name,
            tuple(tensors["declare-input"]),
            tuple(tensors["declare-hidden"]),
            tuple(tensors["declare-output"]),
            *("".join(word.text for word in words[:1]) for words in twins.values()),
        )
        mentioned = [word for words in twins.values() for word in words]
        if mentioned:
            self.check_twin(network, mentioned)
        return network

    def check_twin(self, network: Interface, mentioned: list[Word]) -> None:
        """`equal-to` and `isomorphic-to` name one earlier network of the same shapes, and of the same types."""
        word = mentioned[0]
        twin = next((other for other in self.networks if other.name == word.text), None)
        if len(mentioned) > 1:
            problem = "A network is equal or isomorphic to one other at most."
        elif twin is None:
            problem = "There is no earlier network of this name."
        elif twin.equal_to or twin.isomorphic_to:
            problem = "The network that is named refers to another one itself."
        elif not _matches(network, twin):
            problem = "The two networks have different inputs, hidden nodes or outputs."
        else:
            return
        raise self.source.error(
            word.position,
            problem,
            got=f"{network.name} and {' '.join(other.text for other in mentioned)}",
            remedy=suggest(word.text, [other.name for other in self.networks])
            if twin is None
            else "",
        )

    def read_tensor(self, form: Form) -> Tensor:
        name = self.new_name(form, form.head.removeprefix("declare-"))
        words = [part for part in form.arguments[1:] if isinstance(part, Word)]
        match = _WITH_BRACKET.fullmatch(words[0].text) if words else None
        if match is None or len(words) != len(form.arguments) - 1:
            raise self.source.error(
                form.position,
                f"The declaration of {name} has no type or no shape.",
                got=" ".join(word.text for word in words)[:80],
                remedy=f"write ({form.head} {name} real [1,5])",
            )
        element_type = "real" if match[1] == "Real" else match[1]
        if element_type not in ELEMENT_TYPES:
            raise self.source.error(
                words[0].position,
                "There is no such type of numbers.",
                got=shorten(element_type),
                remedy=suggest(
                    element_type, ELEMENT_TYPES, f"use one of {', '.join(ELEMENT_TYPES)}"
                ),
            )
        shape = self.read_numbers(match[2], words[0].position)
        node, initialized = self.read_options(form, words[1:])
        return Tensor(name, element_type, shape, node, initialized)

    def read_options(self, form: Form, words: list[Word]) -> tuple[str, bool]:
        """The node of a hidden tensor, and whether an input is initialized."""
        texts = [word.text for word in words]
        if (
            form.head == "declare-hidden"
            and len(texts) == 1
            and len(texts[0]) > 1
            and texts[0][0] == texts[0][-1] == '"'
        ):
            return _ESCAPE.sub(_unescape, texts[0][1:-1]), False
        if form.head != "declare-hidden" and not texts:
            return "", False
        if form.head == "declare-input" and texts == ["initialized"]:
            return "", True
        raise self.source.error(
            form.position,
            f"The declaration `{form.head}` is not understood.",
            got=" ".join(texts)[:80] or "no name of a node",
            remedy='a hidden node has its ONNX name in quotes: (declare-hidden Z real [1,8] "name")'
            if form.head == "declare-hidden"
            else "nothing follows the shape, but for inputs the word initialized",
        )

    def new_name(self, form: Form, kind: str) -> str:
        word = form.arguments[0] if form.arguments else None
        if not isinstance(word, Word) or not _NAME.fullmatch(word.text):
            raise self.source.error(
                form.position if word is None else word.position,
                "A name is missing, or is none.",
                got=shorten(word.text)
                if isinstance(word, Word)
                else f"`{form.head}` without a name",
                remedy="names begin with a letter and have letters, digits and underscores",
            )
        if word.text in self.names:
            raise self.source.error(
                word.position,
                "The name is taken: networks and tensors have different names.",
                got=f"{kind} {word.text}, and {self.names[word.text]} {word.text}",
            )
        self.names[word.text] = kind
        return word.text

    def only_word(self, form: Form, what: str) -> Word:
        if len(form.arguments) != 1 or not isinstance(form.arguments[0], Word):
            raise self.source.error(form.position, f"`{form.head}` is followed by {what}.")
        return form.arguments[0]

    def read_numbers(self, text: str, position: int) -> tuple[int, ...]:
        """The natural numbers between brackets, separated by commas; none are a scalar."""
        text = _COMMENT.sub("", text).strip()
        if not text:
            return ()
        parts = [part.strip() for part in text.split(",")]
        if not all(
            part.isascii() and part.isdecimal() and len(part) <= _MOST_DIGITS_OF_INDEX
            for part in parts
        ):
            raise self.source.error(
                position,
                "Between brackets stand natural numbers, separated by commas.",
                got=shorten(f"[{text}]"),
                remedy="write [1,28,28]; dynamic dimensions need a size",
            )
        return tuple(map(int, parts))

    def ensure_networks(self, position: int) -> None:
        if not self.networks:
            raise self.source.error(
                position,
                "The query declares no network.",
                remedy="declare one: (declare-network f (declare-input X real [2]) (declare-output Y real [1]))",
            )

    # -- assertions ---------------------------------------------------------------------------------------------------

    def begin_assertion(self, position: int) -> None:
        """With the first assertion all networks are known, and with them the number of every entry."""
        if self.products is not None:
            return
        self.ensure_networks(position)
        inputs = 0
        outputs = 0
        for network in self.networks:
            for tensor in network.inputs:
                self.tensors[tensor.name] = (tensor, inputs, 1)
                inputs += tensor.size
            for tensor in network.outputs + network.hidden:
                self.tensors[tensor.name] = (tensor, outputs, -1)
                outputs += tensor.size
        self.products = Products(outputs)
        types = {tensor.element_type for tensor, _, _ in self.tensors.values()}
        self.mixes_types = len(types) > 1 or any(element_type in INTEGERS for element_type in types)

    def symbol(self, word: str, position: int) -> Symbol:
        found = self.symbols.get(word)
        if found is None:
            found = self.symbols[word] = self.find_symbol(word, position)
        return found

    def find_symbol(self, word: str, position: int) -> Symbol:
        match = _WITH_BRACKET.fullmatch(word)
        name = match[1] if match else word
        if name not in self.tensors:
            raise self.source.error(
                position,
                "The variable is not declared.",
                got=shorten(name),
                remedy=suggest(
                    name, self.tensors, f"declared are {', '.join(list(self.tensors)[:8])}"
                ),
            )
        tensor, first, sign = self.tensors[name]
        indices = self.read_numbers(match[2], position) if match else ()
        if len(indices) != len(tensor.shape):
            raise self.source.error(
                position,
                f"{name} has {len(tensor.shape)} axes.",
                got=f"{len(indices)} indices",
                remedy="give one index for each axis, from 0"
                if tensor.shape
                else f"write {name} without indices",
            )
        for axis, (index, length) in enumerate(zip(indices, tensor.shape)):
            if index >= length:
                raise self.source.error(
                    position,
                    f"The index {index} is out of range.",
                    got=f"{shorten(word)} of shape {list(tensor.shape)}, axis {axis}",
                    remedy=f"indices of this axis are 0 to {length - 1}",
                )
        entry = first + sum(
            index * prod(tensor.shape[axis + 1 :]) for axis, index in enumerate(indices)
        )
        canonical = tensor.element(entry - first)
        if canonical != word and canonical in self.symbols:
            return self.symbols[canonical]  # the same entry with other spaces is the same variable
        symbol = Symbol(entry if sign > 0 else -1 - entry, tensor.element_type)
        self.symbols[canonical] = symbol
        return symbol

    def multiply(self, factors: Sequence[Linear], position: int) -> Linear:
        assert self.products is not None  # products stand in assertions
        return self.products.multiply(factors)


def _matches(network: Interface, twin: Interface) -> bool:
    """Whether inputs and outputs have the same shapes, and also the same types where the networks are equal."""
    is_equal = bool(network.equal_to)

    def types(tensors: Iterable[Tensor]) -> list[tuple]:
        return [(tensor.shape, tensor.element_type if is_equal else "") for tensor in tensors]

    if types(network.inputs) != types(twin.inputs) or types(network.outputs) != types(twin.outputs):
        return False
    theirs = {tensor.node: tensor for tensor in twin.hidden}
    shared = [tensor for tensor in network.hidden if tensor.node in theirs]
    return not is_equal or types(shared) == types(theirs[tensor.node] for tensor in shared)


def _unescape(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(match[1], match[1])
