"""What a GAN minimises: the Jensen–Shannon divergence, which is blind to distance where transport is not."""

from math import log, sqrt
from typing import Annotated

import numpy as np
from flint import arb, ctx
from scipy.integrate import quad

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
from ftheta.subjects import Dataset
from ftheta.theorems.samples import make_pair, names_of, samples_of, two_samples
from ftheta.transport import transport
from ftheta.transport.line import line_cost

KINDS = ("dice", "disjoint", "normal")
MOST = 600  # rows of each sample, for transport
DISCRIMINATORS = 200  # that are tried beside the best one
BITS = 128
H = 0.1  # step of the Dirac-GAN
STEPS = 100

# ---- subjects --------------------------------------------------------------------------------------------------------


def samples(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which two samples", choices=KINDS)] = "dice",
    rows: Annotated[
        int, Knob(10, 1000, "rows of each sample", "n", log=True, least=2, most=10**5)
    ] = 120,
    shift: Annotated[float, Knob(0, 5, "how far the second sample is moved", "θ", most=1e3)] = 2.0,
) -> Dataset:
    faces = np.arange(6.0)
    if kind == "dice":
        x = rng.choice(faces, rows)
        return make_pair(
            "a fair and a loaded die",
            x,
            np.maximum(rng.choice(faces, rows), rng.choice(faces, rows)),
        )
    if kind == "disjoint":
        return make_pair(
            f"a point and the same moved by {shift:g}", np.zeros(rows), np.full(rows, shift)
        )
    return make_pair(
        f"N(0, 1) and N({shift:g}, 1)", rng.normal(size=rows), shift + rng.normal(size=rows)
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "the discriminator is the best one, $D^*=p/(p+q)$",
    remedy="set --trained 1; a discriminator that has not converged gives a lower bound of the divergence alone",
)
def best_discriminator(data: Dataset, *, trained: float) -> Finding:
    note = f"trained {trained:.0%} of the way from ½ to D*"
    return Finding.decide(trained == 1, note, "read off the knob", basis=Basis.EXACT)


@theorem(
    title="GANs, the Jensen–Shannon divergence and transport",
    gist="Against its best discriminator a GAN minimises the Jensen–Shannon divergence, which is the same for all laws "
    "without common support, however near they are, and then gives no gradient; the transport distance does.",
    see_also=("wgan-critic", "transport-1d", "mmd-test"),
    sources=("scaman-slides", "goodfellow2014", "arjovsky2017", "mescheder2018"),
    assumes=(two_samples, best_discriminator),
    on=samples,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "disjoint": {"kind": "disjoint"},
        "disjoint, but near": {"kind": "disjoint", "shift": 0.1},
        "continuous": {"kind": "normal"},
        "broken on purpose": {"trained": 0.5},
    },
)
def gan_and_transport(
    data: Dataset,
    rng: np.random.Generator,
    *,
    trained: Annotated[
        float, Knob(0, 1, "how far the discriminator is on its way from ½ to the best one", "s")
    ] = 1.0,
) -> Evidence:
    r"""Let $V(D)=\mathbb E_p\ln D+\mathbb E_q\ln(1-D)$. Then
    $$\max_DV(D)=V\Big(\frac p{p+q}\Big)=2\,\mathrm{JS}(p,q)-\ln4,$$
    and $\mathrm{JS}$ is the information that a draw of $\frac12(p+q)$ has about which of the two it came from. It is
    at most $\ln2$, with equality for all laws without common support, whatever their distance $W_1$: there the
    gradient of the game vanishes. Simultaneous gradient steps $h$ on $\theta\psi$ grow by $\sqrt{1+h^2}$ each,
    alternating ones keep $\theta^2+\psi^2-h\theta\psi$."""
    x, y = samples_of(data)
    p, q = _masses(x, y)
    divergence = _divergence(p, q)
    best = p / (p + q)
    game = Enclosure.equal(2 * divergence - log(4))
    name = "D*" if trained == 1 else f"½ + {trained:g}(D* − ½)"
    current = (1 - trained) / 2 + trained * best
    witness = None if trained == 1 else _check_again(current, p, q, len(x), len(y))
    claims: list[Claim] = [
        Identity(
            f"value of the game at {name} = 2 JS − ln 4",
            _value(current, p, q),
            game,
            witness,
            atol=1e-12,
        ),
        _claim_others(best, p, q, game, rng),
        Identity(
            "JS = information of a row about its sample",
            Enclosure.equal(divergence),
            _information(p, q),
            atol=1e-12,
        ),
        AtMost("JS ≤ ln 2", Enclosure.equal(divergence), Enclosure.equal(log(2))),
    ]
    some, others = x[:MOST], y[:MOST]
    distance = transport(some, others, cost="euclidean").value
    common = float(np.minimum(p, q).sum())
    rounding = 1e-12 * max(float(np.abs(some).max()), float(np.abs(others).max()))
    claims.append(
        AtMost("|mean x − mean y| ≤ W₁", _mean_gap(some, others), distance, atol=rounding)
    )
    first, second = names_of(data)
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_shift(some, others, second), _draw_dirac()),
        numbers={
            "JS": divergence,
            "W₁": distance,
            "common mass": common,
            "value of the game": game,
        },
        summary=f"JS of the samples {divergence:.6g} of at most ln 2 = 0.693147, W₁ {distance.middle:.6g}; "
        + (
            f"{first} and {second} have no row in common: no gradient"
            if common == 0
            else f"common mass {common:.3g}"
        ),
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _masses(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shares of both samples on their different rows."""
    _, which = np.unique(np.concatenate([x, y]), axis=0, return_inverse=True)
    count = int(which.max()) + 1
    which = which.ravel()
    p = np.bincount(which[: len(x)], minlength=count) / len(x)
    return p, np.bincount(which[len(x) :], minlength=count) / len(y)


def _times_log(p: np.ndarray, ratio: np.ndarray) -> float:
    """Σ p ln ratio, with 0 ln 0 = 0."""
    there = p > 0
    with np.errstate(divide="ignore"):
        return float((p[there] * np.log(ratio[there])).sum())


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    mixed = (p + q) / 2
    return (_times_log(p, p / mixed) + _times_log(q, q / mixed)) / 2


def _value(D: np.ndarray, p: np.ndarray, q: np.ndarray) -> Enclosure:
    return Enclosure.equal(_times_log(p, D) + _times_log(q, 1 - D))


def _check_again(D: np.ndarray, p: np.ndarray, q: np.ndarray, n: int, m: int) -> Witness:
    """The value of the game with this discriminator and 2 JS − ln 4 in balls; masses are counts of n and m rows."""
    with ctx.workprec(BITS):
        value = arb(0)
        best = arb(0)
        for share, a, b in zip(D.tolist(), np.rint(p * n).tolist(), np.rint(q * m).tolist()):
            P, Q = arb(a) / n, arb(b) / m
            if a > 0:
                value += P * arb(share).log()
                best += P * (P / (P + Q)).log()
            if b > 0:
                value += Q * (1 - arb(share)).log()
                best += Q * (Q / (P + Q)).log()
    at = {"D": tuple(D[:8].tolist())}
    return Witness(
        at, Enclosure.ball(value), Enclosure.ball(best), "logarithms in balls, masses as counts"
    )


def _information(p: np.ndarray, q: np.ndarray) -> Enclosure:
    """ln 2 less the mean entropy of the sample given the row."""
    mixed = (p + q) / 2
    given = p / (p + q)
    return Enclosure.equal(
        log(2) + _times_log(mixed * given, given) + _times_log(mixed * (1 - given), 1 - given)
    )


def _claim_others(
    best: np.ndarray, p: np.ndarray, q: np.ndarray, game: Enclosure, rng: np.random.Generator
) -> AtMost:
    """Other discriminators: the best one, disturbed, and random ones."""
    values = []
    for k in range(DISCRIMINATORS):
        other = rng.random(len(best))
        share = 1.0 if k % 2 else 0.3
        values.append(_value((1 - share) * best + share * other, p, q).lo)
    found = Enclosure.equal(max(values))
    what = f"largest value of {DISCRIMINATORS} other discriminators ≤ 2 JS − ln 4"
    return AtMost(what, found, game, atol=1e-12)


def _mean_gap(x: np.ndarray, y: np.ndarray) -> Enclosure:
    return Enclosure.equal(float(np.linalg.norm(x.mean(0) - y.mean(0))))


def _normal_divergence(shift: float) -> float:
    """JS of N(0, 1) and N(shift, 1), by quadrature."""
    density = lambda z: np.exp(-(z**2) / 2) / sqrt(2 * np.pi)

    def integrand(z: float) -> float:
        p, q = density(z), density(z - shift)
        mixed = (p + q) / 2
        return 0.5 * (p * np.log(p / mixed) + q * np.log(q / mixed))

    return quad(integrand, -12, 12 + shift, epsabs=1e-13, limit=400)[0]


def _dirac_run(alternating: bool) -> np.ndarray:
    """θ and ψ of the Dirac-GAN: descent in θ and ascent in ψ of θψ."""
    theta, psi = 1.0, 0.0
    way = [(theta, psi)]
    for _ in range(STEPS):
        moved = theta - H * psi
        psi += H * (moved if alternating else theta)
        theta = moved
        way.append((theta, psi))
    return np.array(way)


def _examples() -> Examples:
    simultaneous = float(np.linalg.norm(_dirac_run(False)[-1]))
    theta, psi = _dirac_run(True)[-1]
    kept = theta**2 + psi**2 - H * theta * psi
    js = _normal_divergence(2.0)
    claims = (
        Identity(
            "simultaneous steps: |(θ, ψ)| after 100 of them",
            Enclosure.equal(simultaneous),
            Enclosure.equal((1 + H**2) ** (STEPS / 2)),
        ),
        Identity(
            "alternating steps keep θ² + ψ² − hθψ", Enclosure.equal(float(kept)), Enclosure.exact(1)
        ),
    )
    return Examples(
        claims=claims,
        numbers={"JS of N(0,1) and N(2,1)": js, "Dirac-GAN after 100 steps": simultaneous},
    )


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_shift(x: np.ndarray, y: np.ndarray, name: str) -> Curves:
    """Both distances as the second sample is moved along the first coordinate."""
    spread = float(np.ptp(np.concatenate([x[:, 0], y[:, 0]]))) or 1.0
    shifts = spread * np.linspace(-1.5, 1.5, 31)
    along = np.zeros(y.shape[1])
    along[0] = 1.0
    js = [_divergence(*_masses(x, y + t * along)) for t in shifts]
    w1 = [line_cost(x[:, 0], y[:, 0] + t).middle for t in shifts]
    series = (
        Series("JS", shifts, js),
        Series("W₁ of the first coordinate, in ranges", shifts, np.array(w1) / spread, "other"),
        Series("ln 2", shifts, np.full(len(shifts), log(2)), "reference"),
    )
    return Curves(
        f"{name} moved along the first coordinate", Axis("shift"), Axis("distance"), series
    )


def _draw_dirac() -> Curves:
    series = []
    for name, alternating in (("simultaneous", False), ("alternating", True)):
        way = _dirac_run(alternating)
        series.append(Series(name, way[:, 0], way[:, 1], "other" if alternating else "measured"))
    return Curves("Dirac-GAN, steps of 0.1", Axis("θ"), Axis("ψ"), tuple(series))
