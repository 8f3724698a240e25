"""The law of motion is read off states and their derivatives: exactly, where the states tell the monomials apart."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

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
    Table,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset

from .sindy import (
    LORENZ,
    Law,
    differences,
    exact_coefficients,
    fit_coefficients,
    fit_sparse_coefficients,
    library,
    library_rank,
    monomials,
    term_name,
)

STARTS = ("on the attractor", "on the z axis")
ROWS = 400
RANKED = 60  # rows on which the rank is taken in rationals
ZERO = Enclosure.exact(0)
EXACT_ROWS = 40
STEPS = (0.008, 0.004, 0.002, 0.001)
PIXELS = 60


def lorenz_states(
    rng: np.random.Generator,
    *,
    start: Annotated[str, Knob(says="where the trajectory starts", choices=STARTS)] = STARTS[0],
    rows: Annotated[
        int, Knob(40, 400, "states that are seen", "n", log=True, least=20, most=ROWS)
    ] = 200,
) -> Dataset:
    first = (-8.0, 7.0, 27.0) if start == STARTS[0] else (0.0, 0.0, 27.0)
    x = LORENZ.trajectory(first, np.linspace(0, 8, rows))
    return Dataset(LORENZ.name, x, LORENZ.slopes(x), columns=("x", "y", "z"))


def states_on_axis(rng: np.random.Generator) -> Dataset:
    return lorenz_states(rng, start=STARTS[1])


def _states_and_slopes(data: Dataset, step: float) -> tuple[np.ndarray, np.ndarray]:
    """States and derivatives: the labels, or differences of rows that are `step` apart in time."""
    x = data.x[:ROWS].reshape(min(len(data), ROWS), -1).astype(float)
    if data.y is not None and data.y[0].size == x.shape[1]:
        return x, data.y[:ROWS].reshape(len(x), -1).astype(float)
    return x[2:-2], differences(x, step)


@hypothesis(
    "the monomials are linearly independent at the states, and there are few of them",
    remedy="see more of the state space, take a smaller degree, or reduce the state to a few numbers first",
)
def states_tell_monomials_apart(data: Dataset, *, degree: int) -> Finding:
    x = data.x[:ROWS].reshape(min(len(data), ROWS), -1)
    wanted = len(monomials(x.shape[1], degree)) if x.shape[1] <= 8 else 25
    if wanted > 24 or len(x) < 5:
        return Finding.failed(
            f"{x.shape[1]} coordinates and {len(x)} rows: more than 24 monomials, or fewer than 5 rows"
        )
    rank = library_rank(x[:: max(1, len(x) // RANKED)].astype(float), monomials(x.shape[1], degree))
    return Finding.decide(
        rank == wanted,
        f"rank {rank} of {wanted}",
        "in rationals",
        Enclosure.exact(rank),
        basis=Basis.EXACT,
    )


def _is_lorenz(data: Dataset, x: np.ndarray, slopes: np.ndarray) -> bool:
    """Whether the derivatives that come with the states are those of Lorenz' law, up to rounding of its terms."""
    if x.shape[1] != 3 or data.y is None:
        return False
    off = np.abs(slopes - LORENZ.slopes(x))
    return bool((off <= 1e-9 * LORENZ.sizes(x)).all())


@hypothesis(
    r"$\dot x=\Theta(x)\,\Xi$: the law is a polynomial of degree at most $q$",
    remedy="raise the degree",
)
def law_among_monomials(data: Dataset, *, degree: int, step: float) -> Finding:
    if len(data) < 5:
        return Finding.undecided("states tell monomials apart")
    if not _is_lorenz(data, *_states_and_slopes(data, step)):
        return Finding.assumed("the law of these data is not known")
    note = f"the law has degree {LORENZ.degree}, the monomials have degree {degree} at most"
    why = "the derivatives are those of Lorenz' law within 10⁻⁹ of its terms, and its degree is counted"
    return Finding.decide(degree >= LORENZ.degree, note, why, Enclosure.exact(LORENZ.degree))


@theorem(
    title="Sparse identification of dynamics in a code",
    gist="From states and their derivatives the law of motion can be read off exactly, if it is a sum of a few known "
    "terms and the states seen tell the terms apart; this also works in the latent space of a reduced model.",
    see_also=("autoencoder-svd-rom", "autoencoder-svd-rom-deep", "ista-lista"),
    sources=("murari-slides", "brunton2016", "champion2019"),
    assumes=(states_tell_monomials_apart, law_among_monomials),
    on=lorenz_states,
    breaks_on=states_on_axis,
    presets={
        "textbook": {},
        "few states": {"rows": 40},
        "at the edge": {"degree": 3, "rows": 60},
        "broken on purpose": {"start": STARTS[1]},
    },
)
def autoencoder_svd_rom_sindy(
    data: Dataset,
    rng: np.random.Generator,
    *,
    degree: Annotated[int, Knob(1, 3, "degree of the monomials", "q")] = 2,
    level: Annotated[
        float, Knob(0.001, 1.0, "coefficients below this are dropped", "λ", log=True, least=0)
    ] = 0.1,
    step: Annotated[
        float, Knob(0.001, 1.0, "time between rows, of data without derivatives", "h", log=True)
    ] = 0.01,
) -> Evidence:
    r"""Let $\dot x=\Theta(x)\,\Xi$ with the monomials $\Theta$ of degree at most $q$ and few coefficients not zero. If
    the columns of $\Theta(X)$ are independent at the states seen, $\Xi=\Theta(X)^+\dot X$ is recovered exactly, so for
    Lorenz' $$\dot x=10(y-x),\quad\dot y=x(28-z)-y,\quad\dot z=xy-\tfrac83z.$$ Pictures $x(t)^\top M$ have a code of
    as many numbers as $x$ has, and the law in the code has the same degree. A decoder that is a polynomial of the code
    errs at most as much as a linear one."""
    x, slopes = _states_and_slopes(data, step)
    known = _is_lorenz(data, x, slopes)
    law = LORENZ if known else None
    terms = monomials(x.shape[1], degree)
    found = fit_sparse_coefficients(library(x, terms), slopes, level)
    names = LORENZ.coordinates if known else tuple(f"x{k + 1}" for k in range(x.shape[1]))
    curved, picture, numbers = _decode_by_polynomials(x)
    claims: tuple[Claim, ...] = (_residual_claim(x, slopes, degree, level), curved)
    charts: tuple[Curves, ...] = (picture,)
    numbers |= {
        f"coefficient of {term_name(t, names)} in d{n}/dt": float(found[i, k])
        for k, n in enumerate(names)
        for i, t in enumerate(terms)
        if found[i, k]
    }
    if law is not None:
        claims = (*_recovery_claims(x, slopes, law, degree, level), *claims)
        chart, errors = _draw_differences(law, x[0], degree)
        charts = (*charts, chart)
        numbers = numbers | errors
    rows = tuple(
        (term_name(t, names), *map(float, row)) for t, row in zip(terms, found) if row.any()
    )
    return Evidence(
        claims,
        charts,
        numbers,
        (Table("the law that was found", ("term", *(f"d{n}/dt" for n in names)), rows),),
        summary=f"{int((found != 0).sum())} of {found.size} coefficients are not zero",
        examples=partial(_examples, x, slopes, degree),
    )


def _recovery_claims(
    x: np.ndarray, slopes: np.ndarray, law: Law, degree: int, level: float
) -> tuple[Claim, ...]:
    """All coefficients in rationals, and by thresholded least squares in float64: the same terms and nothing else.

    A threshold tells terms from rounding if it lies between the error of the least squares and the smallest coefficient
    that is not zero; nothing is claimed of another one.
    """
    terms = monomials(x.shape[1], degree)
    truth = law.coefficients(terms)
    exact = exact_coefficients(x[:: max(1, len(x) // EXACT_ROWS)], law, terms)
    if exact is None:  # not unique: the minimum-norm solution stands for all
        found = fit_coefficients(library(x, terms), slopes)
        off = max(
            abs(Fraction(float(a)) - b)
            for a, b in zip(found.T.ravel(), (b for row in truth for b in row))
        )
    else:
        off = max(abs(a - b) for row, known in zip(exact, truth) for a, b in zip(row, known))
    recovered = Identity("largest error of a coefficient, in rationals", Enclosure.exact(off), ZERO)
    known = np.array(truth, float).T
    noise = float(np.abs(fit_coefficients(library(x, terms), slopes) - known).max())
    smallest = float(np.abs(known[known != 0]).min())
    if exact is not None and not noise < level < smallest - noise:
        return (recovered,)
    sparse = fit_sparse_coefficients(library(x, terms), slopes, level)
    wrong = int(((sparse != 0) != (known != 0)).sum())
    size = float(np.abs(known).max())
    return (
        recovered,
        Identity("terms found that are not there, or missed", Enclosure.equal(float(wrong)), ZERO),
        Identity(
            "largest error of a coefficient, float64",
            Enclosure.equal(float(np.abs(sparse - known).max())),
            ZERO,
            atol=1e-8 * size,
        ),
    )


def _residual_claim(x: np.ndarray, slopes: np.ndarray, degree: int, level: float) -> AtMost:
    """Dropping terms cannot make the fit better: the residual of the sparse law is above that of all terms."""
    theta = library(x, monomials(x.shape[1], degree))
    full = fit_coefficients(theta, slopes)
    few = fit_sparse_coefficients(theta, slopes, level)
    least, left = (float(np.linalg.norm(theta @ c - slopes)) for c in (full, few))
    size = float(np.linalg.norm(slopes))
    return AtMost(
        "residual of all terms ≤ of the sparse law",
        Enclosure.equal(least),
        Enclosure.equal(left),
        atol=1e-9 * size,
    )


def _examples(x: np.ndarray, slopes: np.ndarray, degree: int) -> Examples:
    """Pictures made of as many modes as there are coordinates: the code has that rank, and a law of the same degree."""
    n, d = x.shape
    modes = np.array(
        [np.sin((k + 1) * np.pi * (np.arange(PIXELS) + 0.5) / PIXELS) for k in range(d)]
    )
    pictures = x @ modes
    moving = slopes @ modes
    sigma, V = np.linalg.svd(pictures, full_matrices=False)[1:]
    code = pictures @ V[:d].T
    pace = moving @ V[:d].T
    theta = library(code, monomials(d, degree))
    off = float(
        np.abs(theta @ fit_coefficients(theta, pace) - pace).max()
        / max(float(np.abs(pace).max()), 1e-300)
    )
    series = tuple(Series(f"code {k + 1}", np.arange(n), code[:, k]) for k in range(d))
    claims = (
        Identity(
            f"σ_{d + 1}/σ_1 of the pictures",
            Enclosure.equal(float(sigma[d] / sigma[0])),
            ZERO,
            atol=1e-12,
        ),
        Identity(
            "law found in the code − derivative of the code, relative",
            Enclosure.equal(off),
            ZERO,
            atol=1e-8,
        ),
    )
    return Examples(
        claims,
        (
            Curves(
                "latent trajectories: the code of the pictures", Axis("row"), Axis("code"), series
            ),
        ),
    )


def _decode_by_polynomials(
    x: np.ndarray, degree: int = 3
) -> tuple[Claim, Curves, dict[str, float]]:
    """One number per row, from the first singular vector: decoded by a line, and by polynomials, lines among them."""
    centred = x - x.mean(0)
    code = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    unit = code / max(float(np.abs(code).max()), 1e-300)
    powers = np.column_stack([unit**k for k in range(degree + 1)])
    decoded = powers @ np.linalg.lstsq(powers, centred, rcond=None)[0]
    line = powers[:, :2] @ np.linalg.lstsq(powers[:, :2], centred, rcond=None)[0]
    curved, straight = (float(((p - centred) ** 2).sum()) for p in (decoded, line))
    size = float((centred**2).sum())
    what = "loss of the curved code ≤ of the linear one"
    claim = AtMost(what, Enclosure.equal(curved), Enclosure.equal(straight), atol=1e-12 * size)
    order = np.argsort(code)
    series = (
        Series("rows", centred[:, 0], centred[:, -1], "reference", "points"),
        Series("curved decoder", decoded[order, 0], decoded[order, -1]),
        Series("linear decoder", line[order, 0], line[order, -1], "bound"),
    )
    chart = Curves(
        "one number per row: linear and curved decoder",
        Axis("first coordinate"),
        Axis("last coordinate"),
        series,
    )
    return claim, chart, {"loss of the linear code": straight, "loss of the curved code": curved}


def _draw_differences(law: Law, start: np.ndarray, degree: int) -> tuple[Curves, dict[str, float]]:
    """Derivatives by differences from a trajectory: the error of the coefficients against the step in time."""
    terms = monomials(len(start), degree)
    errors = []
    known = np.array(law.coefficients(terms), float).T
    for h in STEPS:
        x = law.trajectory(start.tolist(), np.arange(0, 2, h))
        found = fit_coefficients(library(x[2:-2], terms), differences(x, h))
        errors.append(float(np.abs(found - known).max()))
    fourth = errors[0] * (np.array(STEPS) / STEPS[0]) ** 4
    series = (
        Series("largest error of a coefficient", STEPS, errors),
        Series("step⁴", STEPS, fourth, "reference"),
    )
    return Curves(
        "derivatives by differences", Axis("step in time", "log"), Axis("error", "log"), series
    ), {"error at the smallest step": errors[-1]}
