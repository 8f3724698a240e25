"""A classifier that is almost always right can be almost always fooled."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx, fmpq

from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks.description import Dense, Description, is_realisation, random_mlp
from ftheta.subjects import Network

BITS = 128
STEPS = 60  # of a curve

# ---- subjects --------------------------------------------------------------------------------------------------------


def classifier(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which classifier", symbol="f", choices=("linear", "ReLU network"))
    ] = "linear",
    dimension: Annotated[int, Knob(1, 1000, "weak features", "d", log=True, most=10_000)] = 100,
    lean: Annotated[float, Knob(0.0, 1.0, "share of the strong feature in the weights", "t")] = 0.0,
) -> Network:
    r"""$\mathrm{sign}(tx_1+(1-t)\frac1d\sum_ix_{i+1})$, or a random ReLU network of so many inputs."""
    if kind == "linear":
        return Network.described(leaning(dimension, lean), f"linear classifier, t = {lean:g}")
    layers = random_mlp(rng, (dimension + 1, 32, 1), "relu")
    first = layers.layers[0]
    # random weights would ignore the labels: these neurons look at the mean of the weak features
    aware = Dense(np.abs(first.weight) * rng.choice([-1.0, 1.0], size=(32, 1)), first.bias, "relu")
    last = Dense(np.sign(aware.weight[:, :1]).T / 32, np.zeros(1))
    return Network.described(Description((aware, last)), "random ReLU network")


def leaning(dimension: int, lean: float) -> Description:
    """The linear classifier with this share of the strong feature."""
    weight = np.concatenate([[lean], np.full(dimension, (1 - lean) / dimension)])
    return Description((Dense(weight[None], np.zeros(1)),))


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    r"$f_\theta:\mathbb R^{d+1}\to\mathbb R$ classifies by its sign, or $\mathbb R^{d+1}\to\mathbb R^2$ by the larger "
    "output",
    remedy="hand in a network of one vector with at least two entries, with one output or two",
    name="a binary classifier",
)
def binary_classifier(net: Network) -> Finding:
    if len(net.input_shape) != 1 or net.input_shape[0] < 2:
        return Finding.failed(f"inputs of shape {net.input_shape}")
    try:
        outputs = jax.eval_shape(
            net.apply, net.params, jax.ShapeDtypeStruct(net.input_shape, np.float64)
        )
    except Exception as error:  # whatever the network raises for a vector of real numbers
        return Finding.failed(f"the network takes no real vector: {type(error).__name__}")
    size = int(np.prod(outputs.shape))
    note = f"{net.input_shape[0]} inputs, {size} outputs"
    return Finding.decide(
        size in (1, 2), note, "shapes are read off the program", basis=Basis.EXACT
    )


@hypothesis(
    r"the adversary moves every entry by up to $\varepsilon\ge2\eta$",
    remedy="take reach ≥ 2: a weaker adversary cannot turn the weak features around",
    name="an adversary strong enough",
)
def strong_enough(net: Network, *, reach: float) -> Finding:
    note = f"ε = {reach:g} η"
    return Finding.decide(
        reach >= 2, note, "two numbers are compared", Enclosure.exact(reach), basis=Basis.EXACT
    )


@theorem(
    title="Trade-off between accuracy and robustness",
    gist="On data with one reliable feature and many weak ones, a classifier that uses the weak ones to be almost "
    "always right can be fooled almost always by tiny changes, and one that cannot be fooled is less often right.",
    see_also=("lipschitz-bounds", "danskin-adversarial-training", "linear-relaxation-bounds"),
    sources=("tsipras2019",),
    assumes=(binary_classifier, strong_enough),
    on=classifier,
    audited=False,
    unbreakable="the statement is about every classifier, so that no subject can break it; an adversary that is too "
    "weak (reach below 2) does, and that is a knob",
    presets={
        "textbook": {},
        "the strong feature alone": {"lean": 1.0},
        "half and half": {"lean": 0.2},
        "a thousand weak features": {"dimension": 1000, "strength": 4.0},
        "a ReLU network": {"kind": "ReLU network"},
        "broken on purpose": {"reach": 1.0},
    },
)
def robustness_accuracy_trade_off(
    net: Network,
    rng: np.random.Generator,
    *,
    p: Annotated[
        float, Knob(0.5, 0.999, "how often the strong feature is right", "p", most=0.999999)
    ] = 0.95,
    strength: Annotated[
        float,
        Knob(0.5, 5.0, "mean of all weak features together, η√d", "η√d", least=0.0, most=30.0),
    ] = 3.0,
    reach: Annotated[
        float, Knob(0.0, 4.0, "what the adversary may change, in units of η", "ε/η", most=100.0)
    ] = 2.0,
    draws: Annotated[
        int, Knob(1000, 100_000, "examples drawn", "n", log=True, least=100, most=1_000_000)
    ] = 20_000,
) -> Evidence:
    r"""Let $y=\pm1$ with probability $\frac12$ each, $x_1=y$ with probability $p\ge\frac12$ and $-y$ otherwise, and
    $x_2,\dots,x_{d+1}\sim\mathcal N(\eta y,1)$, all independent given $y$. Every classifier $f$ with
    $\mathbb P(f(x)=y)\ge1-\delta$ has
    $$\mathbb P\big(f(x+e)=y\ \text{for all}\ \|e\|_\infty\le\varepsilon\big)\le\frac p{1-p}\,\delta
    \quad\text{for}\ \varepsilon\ge2\eta.$$
    (Moving $x_2,\dots,x_{d+1}$ by $-2\eta y$ gives them the law of the other label.) For
    $f=\mathrm{sign}(w^\top x+b)$ both probabilities are sums of values of the normal distribution function $\Phi$ at
    $(\pm w_1+\eta\sum_{i>1}w_i+yb-\varepsilon\|w\|_1)/\|w_{2:}\|_2$, with $\varepsilon=0$ for the first."""
    law = Law(Fraction(p), Fraction(strength / sqrt(net.input_shape[0] - 1)))
    epsilon = Fraction(reach) * law.eta
    shift = min(epsilon, 2 * law.eta)
    right, fooled = law.sample(classify(net), net.input_shape[0] - 1, float(shift), draws, rng)
    met = {"standard accuracy (sampled)": mean(right, within=(0, 1))}
    met |= {"accuracy under the shift (sampled)": mean(fooled, within=(0, 1))}
    linear = linear_weights(net)
    if linear is None:
        standard, shifted = met.values()
        limit = law.limit(standard)
        claims = (
            AtMost("accuracy under the shift of the weak features", shifted, limit, trivial=1.0),
        )
        exact: dict[str, Enclosure] = {}
    else:
        found = (law.accuracy(linear, Fraction(0), moved) for moved in (Fraction(0), shift))
        plain, shifted = (enclose(value) for value in found)
        standard = plain
        robust = enclose(law.accuracy(linear, epsilon, Fraction(0)))
        limit = enclose(law.limit_exactly(law.accuracy(linear, Fraction(0), Fraction(0))))
        claims = (
            AtMost("accuracy under the shift of the weak features", shifted, limit, trivial=1.0),
            AtMost("robust accuracy, every entry moved by up to ε", robust, limit, trivial=1.0),
        )
        exact = {"robust accuracy": robust}
    numbers = {"standard accuracy": standard, "accuracy under the shift": shifted, "bound": limit}
    return Evidence(
        claims=claims,
        charts=(
            _chart_trade_off(
                law,
                epsilon,
                net.input_shape[0] - 1,
                standard,
                exact.get("robust accuracy", shifted),
            ),
        ),
        numbers=numbers | exact | met,
        tables=(_tabulate(numbers | exact | met),),
        summary=f"right on {standard.middle:.2%} of all examples, on {shifted.middle:.2%} after a shift of the weak "
        f"features by {min(reach, 2.0):g}η = {float(shift):.3g}; at most {min(limit.middle, 1.0):.2%} is possible",
        examples=lambda: _examples(law),
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------

Weights = tuple[list[Fraction], Fraction]
"""$w$ and $b$ of a linear classifier."""


@dataclass(frozen=True)
class Law:
    r"""The law of $(x,y)$: how often the strong feature is right, and the mean $\eta$ of every weak one."""

    p: Fraction
    eta: Fraction

    def limit_exactly(self, accuracy: "Fraction | arb") -> "Fraction | arb":
        r"""$\frac p{1-p}\delta$ of an accuracy $1-\delta$ in rationals or in a ball."""
        ratio = self.p / (1 - self.p)
        return (
            ratio * (1 - accuracy)
            if isinstance(accuracy, Fraction)
            else _ball(ratio) * (1 - accuracy)
        )

    def limit(self, accuracy: Enclosure) -> Enclosure:
        r"""$\frac p{1-p}\delta$ of a sampled accuracy $1-\delta$."""
        return (Enclosure.exact(1) - accuracy) * Enclosure.exact(self.p / (1 - self.p))

    def accuracy(self, linear: Weights, epsilon: Fraction, shift: Fraction) -> "Fraction | arb":
        r"""The probability that $\mathrm{sign}(w^\top x+b)=y$ for all inputs within $\varepsilon$ of $x$ in the norm
        $\infty$, where the weak features have been moved by $-y$ times `shift`: a ball, or a rational number where no
        weak feature has a weight."""
        (strong, *weak), bias = linear
        inside = (self.eta - shift) * sum(weak) - epsilon * (abs(strong) + sum(map(abs, weak)))
        spread = sum((w * w for w in weak), Fraction(0))
        cases = [
            (chance / 2, agrees * strong + inside + y * bias, y)
            for agrees, chance in ((1, self.p), (-1, 1 - self.p))
            for y in (1, -1)
        ]
        if spread == 0:  # a margin of 0 is read as the label −1
            return sum(
                (chance for chance, margin, y in cases if margin > 0 or (margin == 0 and y < 0)),
                Fraction(0),
            )
        with ctx.workprec(BITS):
            root = (2 * _ball(spread)).sqrt()
            return sum(
                (_ball(chance) * (-_ball(margin) / root).erfc() / 2 for chance, margin, _ in cases),
                arb(0),
            )

    def sample(
        self,
        decide: Callable[[Any], Any],
        dimension: int,
        shift: float,
        draws: int,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whether each of so many examples is classified rightly, and after its weak features were moved."""
        y = rng.choice([-1.0, 1.0], size=draws)
        strong = np.where(rng.random(draws) < float(self.p), y, -y)
        right, fooled = (np.empty(draws) for _ in range(2))
        for part in np.array_split(np.arange(draws), max(1, draws * (dimension + 1) // 4_000_000)):
            weak = float(self.eta) * y[part, None] + rng.normal(size=(len(part), dimension))
            join = lambda weak, part=part: np.column_stack([strong[part], weak])
            right[part] = decide(join(weak)) == y[part]
            fooled[part] = decide(join(weak - shift * y[part, None])) == y[part]
        return right, fooled


def _ball(q: Fraction) -> Any:
    return arb(fmpq(q.numerator, q.denominator))


def enclose(number: "Fraction | arb") -> Enclosure:
    return Enclosure.exact(number) if isinstance(number, Fraction) else Enclosure.ball(number)


def linear_weights(net: Network) -> Weights | None:
    """The weights of a network that is one affine map to one number, else None."""
    layers = (
        net.description.layers
        if is_realisation(net.apply, net.params, net.description) and net.description
        else ()
    )
    if len(layers) != 1 or layers[0].activation != "identity" or len(layers[0].weight) != 1:
        return None
    return [Fraction(w) for w in layers[0].weight[0].tolist()], Fraction(float(layers[0].bias[0]))


def classify(net: Network) -> Callable[[Any], np.ndarray]:
    """The labels ±1 of rows: the sign of one output, or which of two is larger."""

    def score(x: Any) -> Any:
        outputs = jnp.ravel(net.apply(net.params, x))
        return outputs[0] if outputs.size == 1 else outputs[1] - outputs[0]

    compiled = jax.jit(jax.vmap(score))
    return lambda rows: np.where(np.asarray(compiled(rows)) > 0, 1.0, -1.0)


# ---- what is shown ---------------------------------------------------------------------------------------------------


def _chart_trade_off(
    law: Law, epsilon: Fraction, dimension: int, standard: Enclosure, robust: Enclosure
) -> Curves:
    r"""Linear classifiers from the weak features alone to the strong one alone, below the line $\frac p{1-p}\delta$."""
    shares = [Fraction(k, STEPS) for k in range(STEPS + 1)]
    weights = [([t, *[(1 - t) / dimension] * dimension], Fraction(0)) for t in shares]
    plain, held = (
        [enclose(law.accuracy(w, e, Fraction(0))).middle for w in weights]
        for e in (Fraction(0), epsilon)
    )
    limits = [min(1.0, float(law.p / (1 - law.p)) * (1 - a)) for a in plain]
    return Curves(
        "robust against standard accuracy",
        Axis("standard accuracy"),
        Axis("robust accuracy"),
        (
            Series("linear classifiers", plain, held, "other"),
            Series("p δ / (1 − p)", plain, limits, "bound"),
            Series("this classifier", (standard.middle,), (robust.middle,), "measured", "points"),
        ),
    )


def _tabulate(numbers: dict[str, Enclosure]) -> Table:
    return Table(
        "accuracies",
        ("quantity", "value"),
        tuple((name, number.middle) for name, number in numbers.items()),
    )


def _examples(law: Law) -> Examples:
    r"""The classifier $\mathrm{sign}(x_1)$ meets the bound: it is right, and stays right, with probability $p$."""
    strong: Weights = ([Fraction(1), Fraction(0)], Fraction(0))
    shifted = enclose(law.accuracy(strong, Fraction(0), 2 * law.eta))
    limit = enclose(law.limit_exactly(law.accuracy(strong, Fraction(0), Fraction(0))))
    return Examples(
        claims=(Identity("sign(x₁) attains the bound", shifted, limit),),
        numbers={"accuracy of sign(x₁) under the shift": shifted},
    )
