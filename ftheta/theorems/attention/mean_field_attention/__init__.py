"""Attention over a measure of tokens: Gaussians stay Gaussian, and the equation of their covariance blows up."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import mean
from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import (
    Adapter,
    AtMost,
    Axis,
    Chart,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    SubjectError,
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset, Measure
from ftheta.theorems.orders import observed_order

from .cloud import Bumps, Cloud, normality_p_value
from .mean_field import Attention, Gaussian, moments, scalar, stability_rates, wasserstein

NEAR = 1e-6  # of quadratures and integrations with local errors of 1e-8
SIZES = tuple(100 << k for k in range(7))  # draws
CLOUDS = (100, 400)  # particles
TAME = 0.6  # largest variance up to which particles stand for a Gaussian: beyond, the tails decide
REPEATS = 160
TIMES = 33
SIGNIFICANT = 1e-4
FEWEST = 8  # tokens of a sample
MOST_BUMPS = 64
WIDEST = 64  # numbers of a token
NEIGHBOUR = 0.9  # the second flow starts from this share of the covariance, its mean moved a little


def gaussian_tokens(
    rng: np.random.Generator,
    *,
    bumps: Annotated[
        int, Knob(1, 4, "Gaussians in the cloud; the theorem is about one", "k", most=16)
    ] = 1,
    variance: Annotated[
        float, Knob(0.01, 2, "variance of the cloud in every direction", "s₀", log=True)
    ] = 0.25,
    offset: Annotated[float, Knob(0, 2, "distance of the mean from 0", "|m|")] = 0.0,
    dimension: Annotated[int, Knob(1, 3, "dimension of a token", "d")] = 2,
) -> Measure:
    atoms = np.zeros((bumps, dimension))
    atoms[:, 0] = offset + 1.5 * (np.arange(bumps) - (bumps - 1) / 2)
    return Measure(
        f"{bumps} Gaussian{'s' * (bumps > 1)} of variance {variance:g}",
        atoms,
        np.full(bumps, 1 / bumps),
        float(variance**0.5),
    )


def measure_of_rows(data: Dataset) -> Measure:
    return Measure.empirical(data.name, data.x.reshape(len(data), -1).astype(np.float64))


def is_sample(tokens: Measure) -> bool:
    """Whether a measure is nothing but tokens, enough of them to tell what they were drawn from."""
    return tokens.spread == 0 and len(tokens.atoms) >= FEWEST and not np.ptp(tokens.weights)


def cloud_of(tokens: Measure) -> Cloud:
    if not is_sample(tokens) and len(tokens.atoms) <= MOST_BUMPS:
        return Cloud.mixture(tokens.atoms, tokens.weights, tokens.spread)
    if tokens.atoms.shape[1] > WIDEST:
        got = f"tokens of dimension {tokens.atoms.shape[1]}"
        raise SubjectError(
            f"Tokens of at most {WIDEST} numbers are needed.", where=tokens.name, got=got
        )
    return Cloud.surrogate(tokens.atoms)


def matrices(cloud: Cloud, stretch: float, turn: float) -> Attention:
    return Attention.build(cloud.law.dimension, stretch, turn)


def check_normality(rows: np.ndarray) -> Finding:
    """Skewness and kurtosis along the principal directions (Jarque and Bera), the worst of them."""
    if not np.ptp(rows, axis=0).any():
        return Finding.failed(f"all {len(rows)} tokens are equal")
    p, directions = normality_p_value(rows)
    note = f"p = {p:.3g} for {len(rows)} tokens in {directions} directions; required: at least {SIGNIFICANT:g}"
    known = Enclosure.measured(p, samples=len(rows))
    return Finding.sampled(note, known) if p >= SIGNIFICANT else Finding.failed(note, known)


@hypothesis(
    r"$\mu=\mathcal N(m,\Sigma)$", remedy="give one atom with a spread, or tokens that look normal"
)
def gaussian(tokens: Measure) -> Finding:
    if is_sample(tokens):
        return check_normality(tokens.atoms)
    holds = len(tokens.atoms) == 1 and tokens.spread > 0
    count = len(tokens.atoms)
    note = f"{count} atom{'s' * (count > 1)} with spread {tokens.spread:.4g}"
    return Finding.decide(holds, note, "the law is given so")


@hypothesis("$t$ is before the blow-up", remedy="look at an earlier time, or scale the tokens down")
def before_blow_up(tokens: Measure, *, time: float, stretch: float, turn: float) -> Finding:
    cloud = cloud_of(tokens)
    end = matrices(cloud, stretch, turn).blow_up(cloud.law, 1.05 * time)
    seen = f"blows up at t = {end:.4g}" if np.isfinite(end) else "stays bounded"
    note = f"the covariance {seen}, solved numerically; required: 5 % after t = {time:g}"
    return (
        Finding.failed(note)
        if end <= 1.05 * time
        else Finding.sampled(note, Enclosure.at_least(end))
    )


@theorem(
    title="Attention over a measure of tokens",
    sources=("peyre-slides", "peyre-notes", "sander2022", "castin2025"),
    assumes=(gaussian, before_blow_up),
    adapters=(Adapter(Dataset, measure_of_rows),),
    on=gaussian_tokens,
    breaks_on=lambda rng: gaussian_tokens(rng, bumps=2),
    presets={
        "textbook": {},
        "one dimension": {"dimension": 1},
        "an ellipse that turns": {"stretch": 0.2, "turn": 60.0, "offset": 0.3, "time": 1.5},
        "at the edge": {"time": 1.8},
        "broken on purpose": {"bumps": 2},
    },
    gist="A cloud of very many tokens behaves like a measure: Gaussian clouds stay Gaussian under attention, with a "
    "covariance that follows an equation of its own and may blow up at a finite depth.",
    see_also=("attention-particle-flow", "self-attention", "mean-field-limit"),
)
def mean_field_attention(
    tokens: Measure,
    rng: np.random.Generator,
    *,
    time: Annotated[
        float, Knob(0.1, 2, "depth at which the cloud is looked at", "t", least=1e-4, most=20)
    ] = 1.0,
    stretch: Annotated[
        float, Knob(-1, 1, "V stretches the last direction by this, the first by 1", "v")
    ] = 1.0,
    turn: Annotated[
        float, Knob(0, 180, "KᵀQ turns the first two directions by this many degrees", "φ")
    ] = 0.0,
) -> Evidence:
    r"""Let $\Gamma_\mu(x)=\int e^{\langle Qx,Ky\rangle}Vy\,d\mu(y)\big/\int e^{\langle Qx,Ky\rangle}d\mu(y)$ move
    tokens by $\partial_t\mu+\mathrm{div}(\mu\Gamma_\mu)=0$. Empirical measures recover attention, within $O(n^{-1/2})$.
    For $\mu=\mathcal N(m,\Sigma)$, $\Gamma_\mu(x)=V(m+\Sigma K^\top Qx)$: Gaussians stay Gaussian, with
    $\dot\Sigma=V\Sigma K^\top Q\Sigma+\Sigma Q^\top K\Sigma V^\top$. For $V=K^\top Q=1$, $m=0$: $\dot s=2s^2$, $s(t)=
    \frac{s_0}{1-2s_0t}$, which blows up at $\frac1{2s_0}$. Two clouds drift apart at most exponentially in $W_2$."""
    cloud = cloud_of(tokens)
    flow = GaussianFlow(cloud, matrices(cloud, stretch, turn), time)
    (draws, rate) = _draw_claims(flow, rng)
    (transport, apart) = _transport_claim(flow)
    first = flow.law.largest
    last = flow.course[-1].largest
    return Evidence(
        (*_quadrature_claims(flow), *draws, *_particle_claims(flow, rng), transport),
        (_draw_ellipses(flow), rate, apart),
        {"largest variance at 0": first, "largest variance at t": last, "W₂ at t": transport.left},
        summary=f"the largest variance grows from {first:.4g} to {last:.6g} at t = {time:g}; "
        f"with V = KᵀQ = 1 it would blow up at t = {1 / (2 * first):.4g}",
        examples=partial(_examples, flow),
    )


@dataclass(frozen=True, eq=False)
class GaussianFlow:
    """A cloud that attention moves until a time."""

    cloud: Cloud
    attention: Attention
    time: float

    @property
    def law(self) -> Gaussian:
        return self.cloud.law

    @cached_property
    def points(self) -> np.ndarray:
        """Where attention is looked at: the mean, and one deviation from it along each direction."""
        return np.concatenate(
            [
                self.law.mean[None],
                self.law.mean + np.sqrt(self.law.largest) * np.eye(self.law.dimension),
            ]
        )

    @cached_property
    def course(self) -> list[Gaussian]:
        return self.attention.gaussians(self.law, np.linspace(0, self.time, TIMES))


def _quadrature_claims(flow: GaussianFlow) -> tuple[Claim, ...]:
    """Γ of the measure as it is, and of the Gaussian with its moments; of a sample neither is known so well."""
    if flow.cloud.is_sample:
        return ()
    exact = flow.attention.of_points(flow.cloud.nodes, flow.cloud.weights, flow.points)
    formula = flow.attention.of_gaussian(flow.law, flow.points)
    k = np.unravel_index(int(np.abs(exact - formula).argmax()), exact.shape)
    what = "Γ of the measure and V(m + ΣMx), where they differ most"
    atol = NEAR * float(np.abs(formula).max() + 1)
    bumps = flow.cloud.bumps
    apart = abs(exact[k] - formula[k]) > atol
    witness = _recheck(flow, bumps, *map(int, k)) if bumps is not None and apart else None
    return (Identity(what, _float(exact[k]), _float(formula[k]), witness, atol=atol),)


def _recheck(flow: GaussianFlow, bumps: Bumps, i: int, entry: int) -> Witness:
    r"""Both at one point, in intervals: Γ of the measure itself, not of the nodes of its quadrature.

    The weight $e^{\langle Mx,y\rangle}$ moves the mean of every bump by $s^2Mx$ and leaves a factor that they share.
    """

    def of_bumps(atoms: Any, weights: Any, square: Any, x: Any, M: Any, V: Any) -> Any:
        scores = weights * jnp.exp(atoms @ (M @ x))
        return V @ ((scores @ atoms) / jnp.sum(scores) + square * (M @ x))

    def of_gaussian(mean: Any, covariance: Any, x: Any, M: Any, V: Any) -> Any:
        return V @ (mean + covariance @ (M @ x))

    x = flow.points[i]
    by = (flow.attention.M, flow.attention.V)
    square = bumps.spread**2
    met = enclose_entry(of_bumps, bumps.atoms, bumps.weights, square, x, *by, entry=entry)
    told = enclose_entry(of_gaussian, flow.law.mean, flow.law.covariance, x, *by, entry=entry)
    return Witness(
        {"x": tuple(map(float, x))}, met, told, "both at this point, in intervals rounded outward"
    )


def _draw_claims(flow: GaussianFlow, rng: np.random.Generator) -> tuple[tuple[Claim, ...], Chart]:
    """A z-test of the formula, and the error of attention over n draws."""
    x = flow.points[-1]
    y = flow.law.draw(rng, SIZES[-1])
    along = rng.normal(size=flow.law.dimension)
    truth = flow.attention.of_gaussian(flow.law, x[None])
    errors = []
    for n in SIZES:
        draws = (flow.law.draw(rng, n) for _ in range(REPEATS))
        gaps = [flow.attention.of_points(z, np.full(n, 1 / n), x[None]) - truth for z in draws]
        errors.append(float(np.sqrt(np.mean([(gap**2).sum() for gap in gaps]))))
    chart = draw_curves(
        "attention over n draws tends to that of the measure",
        SIZES,
        x="draws n",
        y="|Γ_n(x) − Γ(x)|, root mean square",
        log="xy",
        measured={"measured": errors},
        reference={"1/√n": errors[0] * np.sqrt(SIZES[0] / np.array(SIZES))},
    )
    order = observed_order("|Γ_n − Γ|", 0.5, SIZES, errors, slack=0.15)
    return (*_mean_claims(flow, y, x, along), *order), chart


def _mean_claims(
    flow: GaussianFlow, y: np.ndarray, x: np.ndarray, along: np.ndarray
) -> tuple[Claim, ...]:
    """A z-test over the draws `y` of the formula at `x`; none where the variance is no float."""
    spread = flow.attention.residual_variance(flow.law, x, along)
    if not np.isfinite(spread):
        return ()
    found = mean(flow.attention.residuals(flow.law, y, x) @ along, variance=spread)
    what = f"mean of e^⟨Mx, y⟩(Vy − Γ(x)) over {len(y):,} draws"
    return (Identity(what, found, Enclosure.exact(0)),)


def _particle_claims(flow: GaussianFlow, rng: np.random.Generator) -> tuple[Claim, ...]:
    """The equation of the covariance, beside nodes of a quadrature and random particles that move."""
    strength = np.linalg.norm(flow.attention.M, 2)
    k = max((k for k, law in enumerate(flow.course) if law.largest * strength <= TAME), default=0)
    if not k:
        return ()
    until = flow.time * k / (TIMES - 1)
    last = flow.course[k]
    trace = float(np.trace(last.covariance))
    claims: list[Claim] = []
    if flow.law.dimension <= 2:
        y, w = flow.law.quadrature()
        found = np.trace(moments(flow.attention.particles(y, w, until), w).covariance)
        what = f"trace of the covariance at t = {until:.4g} and of moving nodes"
        claims.append(Identity(what, _float(trace), _float(found), rtol=NEAR))
    values = []
    for n in CLOUDS:
        y = flow.law.draw(rng, n)
        w = np.full(n, 1 / n)
        values.append(
            _float(np.trace(moments(flow.attention.particles(y, w, until, 1e-5), w).covariance))
        )
    grown = last.largest / flow.law.largest  # a relative error of the start grows at most so
    within = 5 * np.sqrt(2 / CLOUDS[-1]) * max(1.0, grown) * trace
    what = f"trace of the covariance of n random particles at t = {until:.4g}"
    return (
        *claims,
        Converges(what, _float(trace), tuple(values), tuple(map(float, CLOUDS)), within),
    )


def _scalar_variance(flow: GaussianFlow) -> tuple[float, float]:
    """A time before the blow-up, and the variance then of one dimension with V = M = 1, the equation solved."""
    first = flow.law.largest
    one = Attention(np.eye(1), np.eye(1))
    t = min(flow.time, 0.9 / (2 * first))
    return t, one.gaussians(Gaussian(np.zeros(1), first * np.eye(1)), np.array([0.0, t]))[
        -1
    ].largest


def _examples(flow: GaussianFlow) -> Examples:
    """One dimension, V = M = 1: the equation solved, and s₀/(1 − 2s₀t)."""
    first = flow.law.largest
    t, solved = _scalar_variance(flow)
    what = f"variance at t = {t:.4g} of the scalar equation and s₀/(1 − 2s₀t)"
    numbers = {
        "s(t) of the scalar equation": solved,
        "blow-up of the scalar equation": 1 / (2 * first),
    }
    return Examples((Identity(what, _float(solved), _float(scalar(first, t))),), numbers=numbers)


def _transport_claim(flow: GaussianFlow) -> tuple[AtMost, Chart]:
    r"""$W_2(\mu_t,\nu_t)\le W_2(\mu_0,\nu_0)e^{\int L}$ for a second Gaussian that starts near."""
    near = Gaussian(
        flow.law.mean + 0.1 * np.sqrt(flow.law.largest), NEIGHBOUR * flow.law.covariance
    )
    times = np.linspace(0, flow.time, TIMES)
    others = flow.attention.gaussians(near, times)
    apart = np.array([wasserstein(a, b) for a, b in zip(flow.course, others)])
    rates = np.array(list(stability_rates(flow.attention, flow.course, others)))
    # L grows with the covariances: its larger end value on each interval is on the safe side
    steps = np.maximum(rates[1:], rates[:-1]) * np.diff(times[: len(rates)])
    bound = apart[0] * np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
    k = int((apart / bound)[1:].argmax()) + 1
    series = (
        Series("bound", times[: len(bound)], bound, "bound"),
        Series("W₂", times[: len(apart)], apart),
    )
    chart = Curves(
        "two clouds drift apart no faster than the bound",
        Axis("time t"),
        Axis("W₂(μ, ν)", "log"),
        series,
    )
    return AtMost("W₂(μ_t, ν_t)", _float(apart[k]), _float(bound[k])), chart


def _draw_ellipses(flow: GaussianFlow) -> Chart:
    """Where the density is e^(−½) of its largest, at five times; of one dimension, the deviation against time."""
    if flow.law.dimension == 1:
        times = np.linspace(0, flow.time, TIMES)[: len(flow.course)]
        spread = [np.sqrt(law.largest) for law in flow.course]
        return Curves(
            "the cloud spreads",
            Axis("time t"),
            Axis("standard deviation"),
            (Series("√s", times, spread),),
        )
    turn = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack([np.cos(turn), np.sin(turn)], 1)
    series = []
    for k in np.linspace(0, len(flow.course) - 1, 5).astype(int):
        law = flow.course[k]
        edge = law.mean[:2] + circle @ np.linalg.cholesky(law.covariance[:2, :2]).T
        series.append(Series(f"t = {flow.time * k / (TIMES - 1):.3g}", edge[:, 0], edge[:, 1]))
    return Curves("the cloud as an ellipse", Axis("x₁"), Axis("x₂"), tuple(series))


def _float(value: float) -> Enclosure:
    return Enclosure.equal(float(value)) if np.isfinite(value) else Enclosure()
