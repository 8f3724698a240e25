"""What a variational bound leaves out: the divergence of the encoder from the posterior; averaging weights removes
it."""

from functools import partial
from math import inf
from typing import Annotated

import numpy as np
from flint import acb, arb, ctx

from ftheta.latent.bounds import gaussian_divergence, importance_bound, log_weights
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.networks.description import Dense, Description
from ftheta.subjects import Network
from ftheta.subjects.roles import ask_role, values_at

BITS = 128
NODES = 401  # of the trapezoidal rules, per latent
PART = 3  # standard deviations within which squared weights are integrated
REACH = 11.0  # standard deviations that they span on either side
SIZES = (1, 2, 4, 8, 16, 32, 64)
DRAWS = 2000
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def linear_decoder(
    rng: np.random.Generator,
    *,
    slope: Annotated[float, Knob(-3, 3, "slope of the decoder", "w", least=-100, most=100)] = 1.0,
    hidden: Annotated[int, Knob(0, 32, "tanh neurons; 0 is a linear decoder", "m", most=256)] = 0,
) -> Network:
    if hidden:
        W = rng.normal(size=(hidden, 1))
        last = slope * rng.normal(size=(1, hidden)) / np.sqrt(hidden)
        layers = (Dense(W, rng.normal(size=hidden), "tanh"), Dense(last, np.zeros(1)))
        return Network.described(
            Description(layers), f"tanh decoder with {hidden} neurons"
        ).with_role("decoder")
    layer = Dense(np.array([[slope]]), np.zeros(1))
    return Network.described(Description((layer,)), f"decoder z ↦ {slope:g}z").with_role("decoder")


def _affine(net: Network) -> tuple[np.ndarray, np.ndarray] | None:
    """The column and the offset of an affine decoder of one latent."""
    layers = () if net.description is None else net.description.layers
    if len(layers) != 1 or layers[0].activation != "identity" or layers[0].weight.shape[1] != 1:
        return None
    return layers[0].weight[:, 0], layers[0].bias


@hypothesis(
    r"the weights $w=p(x,z)/q(z)$ have a finite variance",
    remedy="take a wider encoder: a variance above ½ is enough for every decoder",
)
def finite_variance(net: Network, *, deviation: float, noise: float) -> Finding:
    affine = _affine(net)
    square = deviation**2
    if affine is not None:
        half = 0.5 / (1 + float(affine[0] @ affine[0]) / noise**2)
        note = f"τ² = {square:.4g}; half the posterior variance is {half:.4g}"
        return Finding.decide(square > half, note, "a Gaussian integral", Enclosure.equal(square))
    note = f"τ² = {square:.4g}"
    if square > 0.5:
        return Finding.proved(
            note, "the likelihood is bounded, so w² q decays as exp(z²/2τ² − z²)", basis=Basis.FLOAT
        )
    return Finding.assumed(f"{note}, which is enough for some decoders only")


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="ELBO and importance-weighted bounds",
    gist="The ELBO of a variational autoencoder falls short of the log-likelihood by exactly the divergence of the "
    "encoder from the true posterior; averaging several importance weights closes that gap, at a rate set by their "
    "variance.",
    see_also=("linear-vae-ppca", "normalising-flows"),
    sources=("scaman-slides", "kingma2014", "burda2016"),
    assumes=(ask_role("decoder", needs_data=False), finite_variance),
    on=linear_decoder,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "steep decoder": {"slope": 3.0},
        "tanh decoder": {"hidden": 8},
        "exact posterior": {"deviation": 0.7071067811865476},
        "broken on purpose": {"deviation": 0.4},
    },
)
def vae_elbo(
    net: Network,
    rng: np.random.Generator,
    *,
    at: Annotated[
        float,
        Knob(
            -3,
            3,
            "the row whose likelihood is bounded, if no data are given",
            "x",
            least=-100,
            most=100,
        ),
    ] = 0.0,
    mean: Annotated[
        float, Knob(-2, 2, "mean of the encoder, in each latent", "m", least=-100, most=100)
    ] = 0.0,
    deviation: Annotated[
        float, Knob(0.1, 3, "standard deviation of the encoder", "τ", least=1e-3, most=100)
    ] = 1.0,
    noise: Annotated[
        float, Knob(0.1, 3, "standard deviation of the decoder", "σ", least=1e-3, most=100)
    ] = 1.0,
) -> Evidence:
    r"""For $p(x,z)=p(x|z)\,\mathcal N(z;0,I)$ and any $q$ let $w=p(x,z)/q(z)$. Then
    $$\log p(x)=\mathbb E_q\log w+\mathrm{KL}\big(q\,\|\,p(\cdot|x)\big),\qquad
    L_K=\mathbb E\log\tfrac1K\sum_{k\le K}w_k\le L_{K+1}\le\log p(x),$$
    and $\log p(x)-L_K\sim\frac{\mathrm{Var}(w/p(x))}{2K}$ where that variance is finite. For Gaussians it is finite iff
    $\tau^2>\frac12\sigma_{\mathrm{post}}^2$."""
    d = net.output_shape[0]
    q = net.input_shape[0]
    x = np.full(d, at) if net.law is None else net.law.x[0]
    m = np.full(q, mean)
    tau = np.full(q, deviation)
    weights = partial(log_weights, partial(values_at, net), x, mean=m, deviation=tau, noise=noise)
    numbers: Numbers = {"KL(q‖prior)": gaussian_divergence(m, tau)}
    claims: list[Claim] = []
    affine = _affine(net)
    logp = None
    if affine is not None:
        more, found = _enclose(*affine, x, mean, deviation, noise)
        claims += more
        numbers |= found
        logp = found["log p(x)"]
    elif q <= 2:
        more, found = _integrate_bound(net, x, m, tau, noise)
        claims += more
        numbers |= found
        logp = found["log p(x)"]
    if q == 1:
        pair = _pair_bound(weights, mean, deviation)
        numbers["L₂"] = pair
        assert isinstance(logp, Enclosure) and isinstance(numbers["ELBO"], Enclosure)
        claims += [AtMost("ELBO ≤ L₂", numbers["ELBO"], pair), AtMost("L₂ ≤ log p(x)", pair, logp)]
    bounds = _sample_bounds(weights, m, tau, rng)
    if isinstance(logp, Enclosure):
        sampled = bounds[-1].widened(rel=1e-9, absolute=1e-9)
        claims.append(AtMost(f"L_K ≤ log p(x), K = {SIZES[-1]}, sampled", sampled, logp))
    else:
        claims.append(AtMost(f"ELBO ≤ L_K, K = {SIZES[-1]}, sampled", bounds[0], bounds[-1]))
    top = (
        f"log p(x) = {logp.middle:.6g}"
        if isinstance(logp, Enclosure)
        else f"L₆₄ = {bounds[-1].middle:.6g}"
    )
    elbo = numbers.get("ELBO", bounds[0])
    assert isinstance(elbo, Enclosure)
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_bounds(bounds, logp), _draw_widths(net, x, m, noise, rng)),
        numbers=numbers,
        summary=f"ELBO {elbo.middle:.6g}, {top}",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _enclose(
    column: np.ndarray,
    offset: np.ndarray,
    x: np.ndarray,
    mean: float,
    deviation: float,
    noise: float,
) -> tuple[list[Claim], Numbers]:
    """An affine decoder of one latent: all of it Gaussian, in balls."""
    d = len(x)
    with ctx.workprec(BITS):
        W = [arb(v) for v in column.tolist()]
        r = [arb(a) - arb(b) for a, b in zip(x.tolist(), offset.tolist())]
        s2 = arb(noise) ** 2
        m = arb(mean)
        t2 = arb(deviation) ** 2
        size = sum((v * v for v in W), arb(0))
        along = sum((v * u for v, u in zip(W, r)), arb(0))
        rest = sum((u * u for u in r), arb(0))
        precision = 1 + size / s2
        centre = along / s2 / precision
        off = (m - centre) * (m - centre)  # products, as powers of balls around 0 are NaN
        two_pi = 2 * arb.pi()
        logp = (
            -(d * (two_pi * s2).log() + precision.log() + rest / s2 - precision * centre * centre)
            / 2
        )
        fit = -(d * (two_pi * s2).log() + (rest - 2 * m * along + (m**2 + t2) * size) / s2) / 2
        elbo = fit - (m**2 + t2 - 1 - t2.log()) / 2
        short = (precision * (t2 + off) - 1 - (precision * t2).log()) / 2
        numbers: Numbers = {"ELBO": Enclosure.ball(elbo), "log p(x)": Enclosure.ball(logp)}
        claims: list[Claim] = [
            Identity(
                "log p(x) = ELBO + KL(q‖posterior)",
                Enclosure.ball(logp),
                Enclosure.ball(elbo + short),
            )
        ]
        v = 1 / precision
        wide = 2 * t2 - v
        if wide < 0:  # forced: the formula without its hypothesis
            wide = -wide
        if not wide.contains(0):
            square = t2 / (v * wide).sqrt() * (off / wide).exp()
            if 2 * t2 > v:
                numbers["Var(w/p)"] = Enclosure.ball(square - 1)
            part = _second_moment(m, t2, centre, v, wide)
            what = f"E(w/p)² within {PART} deviations of its middle ≤ τ²/√(v(2τ² − v)) exp((m − c)²/(2τ² − v))"
            claims.append(AtMost(what, Enclosure.ball(part), Enclosure.ball(square)))
    return claims, numbers


def _second_moment(m: arb, t2: arb, centre: arb, v: arb, wide: arb) -> arb:
    r"""$\int p(z|x)^2/q(z)\,dz$ around the middle of the integrand, which is a Gaussian where it can be integrated, in
    balls; `wide` is $|2\tau^2-v|$."""

    def integrand(z: acb, _: bool) -> acb:
        return ((z - m) ** 2 / (2 * t2) - (z - centre) ** 2 / v).exp()

    middle = (2 * centre * t2 - m * v) / (2 * t2 - v)
    reach = PART * (v * t2 / wide).sqrt()
    scale = (2 * arb.pi() * t2).sqrt() / (2 * arb.pi() * v)
    return acb.integral(integrand, middle - reach, middle + reach).real * scale


def _grid(center: np.ndarray, width: np.ndarray, nodes: int) -> tuple[np.ndarray, float]:
    """Nodes of a product rule around a centre, and the logarithm of the volume of one cell."""
    u = np.linspace(-REACH, REACH, nodes)
    axes = [c + w * u for c, w in zip(center, width)]
    z = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], 1)
    return z, float(np.log(width * (u[1] - u[0])).sum())


def _integrate_bound(
    net: Network, x: np.ndarray, m: np.ndarray, tau: np.ndarray, noise: float
) -> tuple[list[Claim], Numbers]:
    """Any decoder of one or two latents: the integrals by the trapezoidal rule, twice with twice as many nodes. They
    are known where the second step is much smaller than the first: rules that all miss a narrow peak, or that all have
    a node on it, agree no better as they are refined."""
    found = []
    for nodes in (NODES // (2 * len(m)) + 1, NODES // len(m), 2 * (NODES // len(m)) + 1):
        zeros = np.zeros_like(m)
        z, cell = _grid(zeros, np.ones_like(m), nodes)
        prior = (
            log_weights(partial(values_at, net), x, z, zeros, np.ones_like(m), noise)
            - (z**2).sum(1) / 2
        )
        logp = float(np.logaddexp.reduce(prior)) + cell - len(m) / 2 * np.log(2 * np.pi)
        z, cell = _grid(m, tau, nodes)
        q = (
            np.exp(-(((z - m) / tau) ** 2).sum(1) / 2 + cell)
            / np.sqrt(2 * np.pi) ** len(m)
            / tau.prod()
        )
        logs = log_weights(partial(values_at, net), x, z, m, tau, noise)
        elbo = float(q @ logs)
        short = float(q @ (logp - logs))
        found.append((logp, elbo, short))
    steps = np.abs(np.diff(found, axis=0))
    settled = steps[1] <= np.maximum(steps[0] / 4, 1e-9)
    errors = np.where(settled, 4 * steps[1] + 1e-10, inf)
    sides = [
        Enclosure.between(v - e, v + e, Basis.FLOAT) for v, e in zip(found[-1], errors.tolist())
    ]
    claims: list[Claim] = [
        AtMost("ELBO ≤ log p(x)", sides[1], sides[0]),
        AtMost("0 ≤ KL(q‖posterior)", Enclosure.exact(0), sides[2]),
    ]
    return claims, {"ELBO": sides[1], "log p(x)": sides[0], "KL(q‖posterior)": sides[2]}


def _pair_bound(weights: partial, mean: float, deviation: float) -> Enclosure:
    r"""$L_2$ by the trapezoidal rule in both latents, with half as many nodes to compare."""
    found = []
    for nodes in (NODES // 2, NODES):
        u = np.linspace(-REACH, REACH, nodes)
        shares = np.exp(-(u**2) / 2) * (u[1] - u[0]) / np.sqrt(2 * np.pi)
        logs = weights((mean + deviation * u)[:, None])
        pairs = np.logaddexp(logs[:, None], logs[None]) - np.log(2)
        found.append(float(shares @ pairs @ shares))
    error = 2 * abs(found[1] - found[0]) + 1e-12
    return Enclosure.between(found[1] - error, found[1] + error, Basis.FLOAT)


def _sample_bounds(
    weights: partial, m: np.ndarray, tau: np.ndarray, rng: np.random.Generator
) -> list[Enclosure]:
    """$L_K$ for several K from draws."""
    z = m + tau * rng.normal(size=(DRAWS * SIZES[-1] // 8, len(m)))
    logs = weights(z)
    bounds = []
    for size in SIZES:
        rows = min(DRAWS, len(logs) // size)
        bounds.append(importance_bound(logs[: rows * size].reshape(rows, size)))
    return bounds


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_bounds(bounds: list[Enclosure], logp: object) -> Curves:
    lines = [
        Series(
            "L_K, sampled",
            SIZES,
            [b.middle for b in bounds],
            lo=[b.lo for b in bounds],
            hi=[b.hi for b in bounds],
        )
    ]
    if isinstance(logp, Enclosure):
        lines.append(Series("log p(x)", SIZES, [logp.middle] * len(SIZES), "bound"))
    return Curves("bounds of log p(x)", Axis("weights K", "log"), Axis("nats"), tuple(lines))


def _draw_widths(
    net: Network, x: np.ndarray, m: np.ndarray, noise: float, rng: np.random.Generator
) -> Curves:
    """The ELBO against the width of the encoder, from the same draws at every width."""
    widths = np.geomspace(0.2, 3, 24)
    xi = rng.normal(size=(500, len(m)))
    elbos = []
    for width in widths:
        tau = np.full(len(m), width)
        elbos.append(
            float(log_weights(partial(values_at, net), x, m + tau * xi, m, tau, noise).mean())
        )
    line = Series("ELBO, sampled", widths, elbos)
    return Curves("the width of the encoder", Axis("deviation τ", "log"), Axis("nats"), (line,))
