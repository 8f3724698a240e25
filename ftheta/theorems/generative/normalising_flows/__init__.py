"""A smooth invertible map of noise has a density that is known; maximum likelihood fits it to data."""

from dataclasses import dataclass
from math import e, log, pi, sqrt
from typing import Annotated, Any

import numpy as np
from flint import acb, arb, ctx

from ftheta.estimates import binomial_interval
from ftheta.flows.continuous import normal_log_density
from ftheta.flows.coupling import CouplingFlow, fit_coupling
from ftheta.lazy import jnp
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset, Network
from ftheta.subjects.roles import ask_role
from ftheta.theorems.charts_generative import join_lines

from .inverses import Map

MOST_ROWS = 2000
MOST_ENTRIES = 64
POINTS = 400  # inputs at which the determinant is looked at
CELLS = 48  # of a box, per coordinate
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WarpedPlane:
    r"""$(x_1,x_2)\mapsto(x_1,x_2e^{ax_1}+bx_1^2)$, a coupling layer."""

    def apply(self, params: Any, x: Any) -> Any:
        return jnp.stack([x[0], x[1] * jnp.exp(params["a"] * x[0]) + params["b"] * x[0] ** 2])


def warped_plane(
    rng: np.random.Generator,
    *,
    stretch: Annotated[
        float, Knob(0, 1.5, "how fast the second coordinate is stretched", "a", least=-3, most=3)
    ] = 0.5,
    bend: Annotated[float, Knob(0, 2, "how much it is bent", "b", least=-10, most=10)] = 1.0,
    kind: Annotated[str, Knob(says="which map", choices=("coupling", "square"))] = "coupling",
) -> Network:
    if kind == "square":
        return square(rng)
    params = {"a": np.float64(stretch), "b": np.float64(bend)}
    return Network(
        f"(x₁, x₂ exp({stretch:g}x₁) + {bend:g}x₁²)",
        WarpedPlane().apply,
        params,
        (2,),
        role="generator",
    )


def square(rng: np.random.Generator) -> Network:
    """The negative control: two inputs for every output."""
    return Network("x ↦ x²", lambda params, x: x**2, {}, (1,), role="generator")


@hypothesis(
    r"$T$ is a bijection of $\mathbb R^d$ with $\det DT\ne0$",
    remedy="build it of coupling layers, or of invertible matrices and increasing activations; give data to fit one",
    name="an invertible map",
)
def invertible(given: Network | Dataset) -> Finding:
    if isinstance(given, Dataset):
        d = int(np.prod(given.x.shape[1:]))
        if d > MOST_ENTRIES or len(given) < 20:
            return Finding.failed(
                f"{len(given)} rows of {d} entries; at least 20 of at most {MOST_ENTRIES} are asked for"
            )
        return Finding.proved(
            "coupling layers", "x_B e^s + t has an explicit inverse, whatever s and t are"
        )
    if given.input_shape != given.output_shape:
        return Finding.failed(
            f"from {given.input_shape} to {given.output_shape}: not from a space to itself"
        )
    if isinstance(getattr(given.apply, "__self__", None), WarpedPlane):
        return Finding.proved(
            "a coupling layer", "x_B e^s + t has an explicit inverse, whatever s and t are"
        )
    x = 2 * np.random.default_rng(0).normal(size=(POINTS, given.input_shape[0]))
    signs = np.sign(Map(given).determinants(x))
    if len(set(signs.tolist())) > 1:
        share = float((signs == signs[0]).mean())
        return Finding.failed(
            f"the determinant changes its sign: {share:.3g} of {POINTS} points have one",
            Enclosure.equal(share),
        )
    return Finding.sampled(f"one sign of the determinant at {POINTS} points")


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Normalising flows: the density of a map of noise",
    gist="A smooth invertible map of Gaussian noise has a density that can be written down, so it is fitted by maximum "
    "likelihood, which is the same as making the data look Gaussian in the map's own coordinates.",
    see_also=("flow-matching", "trace-estimators", "flow-diffeomorphism", "modes-need-steepness"),
    sources=("scaman-slides", "dinh2017", "papamakarios2021"),
    assumes=(ask_role("generator", needs_data=False), invertible),
    on=warped_plane,
    breaks_on=square,
    presets={
        "textbook": {},
        "hardly warped": {"stretch": 0.1, "bend": 0.1},
        "strongly warped": {"stretch": 1.0, "bend": 2.0},
        "broken on purpose": {"kind": "square"},
    },
)
def normalising_flows(
    given: Network | Dataset,
    rng: np.random.Generator,
    *,
    draws: Annotated[
        int, Knob(1000, 50_000, "points that are mapped", "n", log=True, least=100, most=10**6)
    ] = 10_000,
    layers: Annotated[int, Knob(1, 12, "coupling layers fitted to data", "ℓ", most=64)] = 6,
) -> Evidence:
    r"""Let $T$ be a diffeomorphism and $X\sim p_X$. Then $Y=T(X)$ has the density
    $$\log p_Y(T(x))=\log p_X(x)-\log|\det DT(x)|.$$
    A coupling $y_A=x_A$, $y_B=x_Be^{s(x_A)}+t(x_A)$ has $\log\det=\sum s$ and the inverse $(y_B-t)e^{-s}$. As
    $\mathrm{KL}(p\|T_\#\pi)=\mathrm{KL}(T^{-1}_\#p\|\pi)$, maximum likelihood makes $T^{-1}_\#p$ look like $\pi$."""
    if isinstance(given, Dataset):
        return _fit_data(given, rng, layers)
    T = Map(given)
    d = given.input_shape[0]
    x = rng.normal(size=(draws, d))
    y = T.values(x)
    claims: list[Claim] = [_claim_orientation(T, x[:POINTS])]
    if d <= 2:
        claims.append(_claim_mass(T, x, y))
    logs = normal_log_density(x[:POINTS]) - np.log(
        np.maximum(np.abs(T.determinants(x[:POINTS])), 1e-300)
    )
    entropy = float(-logs.mean())
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_grid(T, d),),
        numbers={"entropy of y": Enclosure.measured(entropy, samples=len(logs))},
        summary=f"−E log p_Y = {entropy:.4g} nats from {len(logs)} points",
        examples=_examples,
    )


# ---- networks --------------------------------------------------------------------------------------------------------


def _claim_orientation(T: Map, x: np.ndarray) -> Claim:
    """The determinant of a diffeomorphism has one sign: the pair of points that comes nearest to two."""
    determinants = T.determinants(x)
    low, high = int(determinants.argmin()), int(determinants.argmax())
    turn = -float(determinants[low] * determinants[high])
    witness = None
    if turn > 0:
        at = {"a": tuple(x[low].tolist()), "b": tuple(x[high].tolist())}
        witness = Witness(
            at, T.enclose_turn(x[low], x[high]), Enclosure.exact(0), "determinants in intervals"
        )
    what = f"−det DT(a) det DT(b) ≤ 0, worst of {len(x)} points"
    return AtMost(
        what, Enclosure.measured(turn, samples=len(x)), Enclosure.exact(0), witness=witness
    )


def _claim_mass(T: Map, x: np.ndarray, y: np.ndarray) -> Claim:
    """The mass that the formula gives a box in the middle of the outputs, against the share of outputs in it."""
    lo, hi = np.quantile(y, 0.3, axis=0), np.quantile(y, 0.7, axis=0)
    inside = int(((y >= lo) & (y <= hi)).all(1).sum())
    masses = []
    for cells in (CELLS // 2, CELLS):
        axes = [a + (b - a) * (np.arange(cells) + 0.5) / cells for a, b in zip(lo, hi)]
        at = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], 1)
        nearest = x[_nearest(y, at)]
        back, gap = T.invert(at, nearest)
        if not (gap < 1e-6 * (1 + np.abs(at).max())).all():
            return Identity(
                "mass of a box by the formula = share of outputs", Enclosure(), Enclosure()
            )
        density = np.exp(normal_log_density(back)) / np.abs(T.determinants(back))
        masses.append(float(density.mean() * np.prod(hi - lo)))
    error = 2 * abs(masses[1] - masses[0]) + 1e-9
    formula = Enclosure.between(masses[1] - error, masses[1] + error, Basis.FLOAT)
    share = binomial_interval(inside, len(y))
    return Identity(
        f"mass of the middle box by the formula = share of {len(y):,} outputs in it", formula, share
    )


def _nearest(y: np.ndarray, at: np.ndarray) -> np.ndarray:
    few = y[:500]
    return ((at[:, None] - few[None]) ** 2).sum(2).argmin(1)


# ---- data ------------------------------------------------------------------------------------------------------------


def _fit_data(data: Dataset, rng: np.random.Generator, layers: int) -> Evidence:
    """A coupling flow fitted to the rows."""
    rows = np.asarray(data.x, np.float64).reshape(len(data), -1)
    chosen = rng.permutation(len(rows))[:MOST_ROWS]
    rows = rows[chosen]
    flow = fit_coupling(rows, rng, layers=layers)
    whitening = CouplingFlow((), flow.centre, flow.factor)
    likelihood = float(flow.log_density(rows).mean())
    plain = float(whitening.log_density(rows).mean())
    x = flow.inverse(rows)[0]
    back, forward_change = flow.forward(x)
    size = float(np.abs(rows).max()) + 1
    probe = x[:: max(1, len(x) // 8)][:8]
    claims: list[Claim] = [
        Identity(
            "largest |T(T⁻¹(y)) − y| over the rows",
            Enclosure.equal(float(np.abs(back - rows).max())),
            Enclosure.exact(0),
            atol=1e-7 * size,
        ),
        _claim_determinant(flow, probe),
        Identity(
            "mean log-likelihood: by T⁻¹ = by T",
            Enclosure.equal(likelihood),
            Enclosure.equal(float((normal_log_density(x) - forward_change).mean())),
            rtol=1e-7,
            atol=1e-7,
        ),
        AtMost(
            "log-likelihood of a Gaussian ≤ of the flow, on the rows it was fitted to",
            Enclosure.equal(plain),
            Enclosure.equal(likelihood),
        ),
    ]
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_samples(flow, rows, rng),),
        numbers={"log-likelihood per row": likelihood, "of a Gaussian": plain},
        summary=f"log-likelihood {likelihood:.4g} nats per row, {likelihood - plain:.3g} above that of a Gaussian",
    )


def _claim_determinant(flow: CouplingFlow, x: np.ndarray) -> Claim:
    """The sum of the scales against the determinant of the whole Jacobian, by complex steps."""
    d = x.shape[1]
    step = 1e-100
    found = []
    for row in x:
        shifted = row + 1j * step * np.eye(d)
        jacobian = (np.imag(flow.forward(shifted)[0]) / step).T
        found.append(float(np.linalg.slogdet(jacobian)[1]))
    expected = flow.forward(x)[1]
    k = int(np.abs(np.array(found) - expected).argmax())
    sides = (Enclosure.equal(float(expected[k])), Enclosure.equal(found[k]))
    return Identity("log det DT: sum of the scales = of the Jacobian", *sides, rtol=1e-7, atol=1e-7)


# ---- examples and charts ---------------------------------------------------------------------------------------------


def _examples() -> Examples:
    r"""$y=2x+1$; $(x_1,x_2e^{x_1/2}+x_1^2)$, whose divergence from a normal law is $1+\sqrt e/2$; $y=x^2$."""
    with ctx.workprec(96):
        x2 = (arb("-0.2") - arb("0.36")) * (-arb("0.3")).exp()
        log_p = -(2 * arb.pi()).log() - (arb("0.36") + x2**2) / 2 - arb("0.3")
        # E[|y|² − |x|²]/2 − E log det = E[x₂² e^{x₁} + x₁⁴ − x₂²]/2 with E e^{x₁} = √e, E x₁⁴ = 3
        moment = acb.integral(lambda z, _: (z.exp() + z**4 - 1) * (-z * z / 2).exp(), -20, 20)
        kl = moment.real / (2 * arb.pi()).sqrt() / 2 + arb(0, 1e-50)
        branch = Enclosure.ball((arb(1) / arb(2).sqrt()).erf() / 2)
    claims = (
        Identity(
            "KL of the warped plane = 1 + √e/2",
            Enclosure.ball(kl),
            Enclosure.equal(1 + sqrt(e) / 2),
        ),
        Identity(
            "y = x²: P(0 < x ≤ 1), one branch, = half of P(y ≤ 1)",
            branch,
            Enclosure.equal(0.34134474606854293),
        ),
    )
    line = -log(2) - log(2 * pi) / 2  # at x = 0
    numbers: Numbers = {
        "log p of the warped plane": Enclosure.ball(log_p),
        "KL of the warped plane": Enclosure.ball(kl),
        "log p of 2x + 1 at 1": line,
    }
    return Examples(claims=claims, numbers=numbers)


def _draw_grid(T: Map, d: int) -> Curves:
    """Grid lines and where the map takes them; of one coordinate the graph of the map."""
    u = np.linspace(-2.5, 2.5, 81)
    if d == 1:
        return Curves(
            "the map", Axis("x"), Axis("y"), (Series("T", u, T.values(u[:, None])[:, 0]),)
        )
    lines: tuple[list[np.ndarray], ...] = ([], [])
    for c in np.linspace(-2, 2, 9):
        for axis in range(2):
            rows = np.zeros((len(u), d))
            rows[:, axis] = u
            rows[:, 1 - axis] = c
            lines[axis].append(T.values(rows)[:, :2])
    series = (join_lines("x₂ constant", lines[0], "other"), join_lines("x₁ constant", lines[1]))
    return Curves("where the grid goes", Axis("y₁"), Axis("y₂"), series)


def _draw_samples(flow: CouplingFlow, rows: np.ndarray, rng: np.random.Generator) -> Curves:
    """Rows and samples in the first two coordinates, or their sorted values on the line."""
    made = flow.sample(rng, min(len(rows), 400))
    shown = rows[: len(made)]
    if rows.shape[1] == 1:
        share = np.linspace(0, 1, len(made))
        lines = (
            Series("rows", np.sort(shown[:, 0]), share, "reference"),
            Series("samples", np.sort(made[:, 0]), share),
        )
        return Curves("rows and samples", Axis("x"), Axis("share below"), lines)
    lines = (
        Series("rows", shown[:, 0], shown[:, 1], "reference", "points"),
        Series("samples", made[:, 0], made[:, 1], "measured", "points"),
    )
    return Curves("rows and samples", Axis("x₁"), Axis("x₂"), lines)
