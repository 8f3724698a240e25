"""Events of the field, each with its source and the theorems in which it can be run."""

from collections.abc import Set
from dataclasses import dataclass

from ftheta.logic import Axis, Curves, Series, Table


@dataclass(frozen=True)
class Event:
    """`source` is a key of the bibliography, `theorems` are ids, the first one the main one."""

    year: int
    what: str
    who: str
    source: str
    theorems: tuple[str, ...]

    @property
    def published(self) -> int:
        """The year of the source, which ends its key."""
        return int(self.source[-4:])


EVENTS = (
    Event(1943, "logical neuron", "McCulloch, Pitts", "mcculloch1943", ("perceptron-xor", "depth-conventions")),
    Event(1957, "perceptron", "Rosenblatt", "rosenblatt1957", ("perceptron-xor", "implicit-bias")),
    Event(1969, "Perceptrons", "Minsky, Papert", "minsky1969", ("perceptron-xor", "vc-uniform-convergence")),
    Event(1970, "reverse mode", "Linnainmaa", "linnainmaa1970", ("reverse-mode", "worked-example-graph")),
    Event(1982, "associative memory", "Hopfield", "hopfield1982", ("hopfield",)),
    Event(1986, "back-propagation", "Rumelhart, Hinton, Williams", "rumelhart1986", ("backprop-mlp", "training-loop")),
    Event(
        1989, "universal approximation", "Cybenko; Hornik", "cybenko1989", ("uat-cybenko-hornik", "stone-weierstrass")
    ),
    Event(1993, "rates without dimension", "Barron", "barron1993", ("barron-rate", "barron-norm")),
    Event(
        2012,
        "AlexNet",
        "Krizhevsky, Sutskever, Hinton",
        "krizhevsky2012",
        ("cnn-alexnet-activations", "conv-iff-equivariant"),
    ),
    Event(2016, "ResNet", "He, Zhang, Ren, Sun", "he2016", ("resnet-block-34", "neural-ode-limit")),
    Event(2017, "Transformer", "Vaswani et al.", "vaswani2017", ("transformer-block", "self-attention")),
    Event(2018, "neural tangent kernel", "Jacot, Gabriel, Hongler", "jacot2018", ("ntk-kernel", "overparam-gd")),
    Event(2018, "neural ODE", "Chen, Rubanova, Bettencourt, Duvenaud", "chen2018", ("neural-ode-limit",)),
    Event(2020, "diffusion models", "Ho, Jain, Abbeel", "ho2020", ("diffusion-score",)),
    Event(2020, "large language models", "Brown et al.", "brown2020", ("self-attention", "adam")),
)


def missing(events: tuple[Event, ...], runnable: Set[str]) -> list[str]:
    """Ids that no theorem has."""
    return [id for event in events for id in event.theorems if id not in runnable]


def timeline_table(events: tuple[Event, ...]) -> Table:
    rows = tuple((e.year, e.what, e.who, ", ".join(f"ftheta check {id}" for id in e.theorems)) for e in events)
    return Table("timeline", ("year", "event", "by", "run it"), rows)


def timeline_chart(events: tuple[Event, ...], years: tuple[float, ...], until: int = 2026) -> Curves:
    """One line an event, from its year on, the oldest at the bottom."""
    series = tuple(
        Series(f"{year:.0f} {event.what}", (year, until), (k, k))
        for k, (event, year) in enumerate(zip(events, years), 1)
    )
    return Curves("timeline of the field", Axis("year"), Axis("event"), series)
