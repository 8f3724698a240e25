"""Dynamics found in data: in rationals, in float64, in the code of a reduced model; and codes that are curved."""

from fractions import Fraction

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Series, Table

from .sindy import Law, differences, exact_coefficients, fitted, library, monomials, term_name, thresholded

ZERO = Enclosure.exact(0)
EXACT_ROWS = 40
STEPS = (0.008, 0.004, 0.002, 0.001)
PIXELS = 60


def recovery_claims(x: np.ndarray, slopes: np.ndarray, law: Law, degree: int, level: float) -> tuple[Claim, ...]:
    """All coefficients in rationals, and by thresholded least squares in float64: the same terms and nothing else.

    A threshold tells terms from rounding if it lies between the error of the least squares and the smallest coefficient
    that is not zero; nothing is claimed of another one.
    """
    terms = monomials(x.shape[1], degree)
    truth = law.coefficients(terms)
    exact = exact_coefficients(x[:: max(1, len(x) // EXACT_ROWS)], law, terms)
    if exact is None:  # not unique: the solution of least norm stands for all
        found = fitted(library(x, terms), slopes)
        off = max(abs(Fraction(float(a)) - b) for a, b in zip(found.T.ravel(), (b for row in truth for b in row)))
    else:
        off = max(abs(a - b) for row, known in zip(exact, truth) for a, b in zip(row, known))
    recovered = Identity("largest error of a coefficient, in rationals", Enclosure.exact(off), ZERO)
    known = np.array(truth, float).T
    noise = float(np.abs(fitted(library(x, terms), slopes) - known).max())
    smallest = float(np.abs(known[known != 0]).min())
    if exact is not None and not noise < level < smallest - noise:
        return (recovered,)
    sparse = thresholded(library(x, terms), slopes, level)
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


def residual_claim(x: np.ndarray, slopes: np.ndarray, degree: int, level: float) -> AtMost:
    """Dropping terms cannot make the fit better: the residual of the sparse law is above that of all terms."""
    theta = library(x, monomials(x.shape[1], degree))
    full, few = fitted(theta, slopes), thresholded(theta, slopes, level)
    least, left = (float(np.linalg.norm(theta @ c - slopes)) for c in (full, few))
    size = float(np.linalg.norm(slopes))
    return AtMost(
        "residual of all terms ≤ of the sparse law", Enclosure.equal(least), Enclosure.equal(left), atol=1e-9 * size
    )


def reduced_claims(x: np.ndarray, slopes: np.ndarray, degree: int) -> tuple[tuple[Claim, ...], Curves]:
    """Pictures made of as many modes as there are coordinates: the code has that rank, and a law of the same degree."""
    n, d = x.shape
    modes = np.array([np.sin((k + 1) * np.pi * (np.arange(PIXELS) + 0.5) / PIXELS) for k in range(d)])
    pictures, moving = x @ modes, slopes @ modes
    sigma, V = np.linalg.svd(pictures, full_matrices=False)[1:]
    code, pace = pictures @ V[:d].T, moving @ V[:d].T
    theta = library(code, monomials(d, degree))
    off = float(np.abs(theta @ fitted(theta, pace) - pace).max() / max(float(np.abs(pace).max()), 1e-300))
    series = tuple(Series(f"code {k + 1}", np.arange(n), code[:, k]) for k in range(d))
    return (
        Identity(f"σ_{d + 1}/σ_1 of the pictures", Enclosure.equal(float(sigma[d] / sigma[0])), ZERO, atol=1e-12),
        Identity("law found in the code − derivative of the code, relative", Enclosure.equal(off), ZERO, atol=1e-8),
    ), Curves("latent trajectories: the code of the pictures", Axis("row"), Axis("code"), series)


def curved_code(x: np.ndarray, degree: int = 3) -> tuple[Claim, Curves, dict[str, float]]:
    """One number a row, from the first singular vector: decoded by a line, and by polynomials, lines among them."""
    centred = x - x.mean(0)
    code = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    unit = code / max(float(np.abs(code).max()), 1e-300)
    powers = np.column_stack([unit**k for k in range(degree + 1)])
    told = powers @ np.linalg.lstsq(powers, centred, rcond=None)[0]
    line = powers[:, :2] @ np.linalg.lstsq(powers[:, :2], centred, rcond=None)[0]
    curved, straight = (float(((p - centred) ** 2).sum()) for p in (told, line))
    size, what = float((centred**2).sum()), "loss of the curved code ≤ of the linear one"
    claim = AtMost(what, Enclosure.equal(curved), Enclosure.equal(straight), atol=1e-12 * size)
    order = np.argsort(code)
    series = (
        Series("rows", centred[:, 0], centred[:, -1], "reference", "points"),
        Series("curved decoder", told[order, 0], told[order, -1]),
        Series("linear decoder", line[order, 0], line[order, -1], "bound"),
    )
    chart = Curves(
        "one number a row: linear and curved decoder", Axis("first coordinate"), Axis("last coordinate"), series
    )
    return claim, chart, {"loss of the linear code": straight, "loss of the curved code": curved}


def difference_chart(law: Law, start: np.ndarray, degree: int) -> tuple[Curves, dict[str, float]]:
    """Derivatives by differences from a trajectory: the error of the coefficients against the step in time."""
    terms, errors = monomials(len(start), degree), []
    known = np.array(law.coefficients(terms), float).T
    for h in STEPS:
        x = law.trajectory(start.tolist(), np.arange(0, 2, h))
        found = fitted(library(x[2:-2], terms), differences(x, h))
        errors.append(float(np.abs(found - known).max()))
    fourth = errors[0] * (np.array(STEPS) / STEPS[0]) ** 4
    series = Series("largest error of a coefficient", STEPS, errors), Series("step⁴", STEPS, fourth, "reference")
    return Curves("derivatives by differences", Axis("step in time", "log"), Axis("error", "log"), series), {
        "error at the smallest step": errors[-1]
    }


def sindy_evidence(x: np.ndarray, slopes: np.ndarray, law: Law | None, degree: int, level: float) -> Evidence:
    terms = monomials(x.shape[1], degree)
    found = thresholded(library(x, terms), slopes, level)
    names = law.coordinates if law else tuple(f"x{k + 1}" for k in range(x.shape[1]))
    rows = tuple((term_name(t, names), *map(float, row)) for t, row in zip(terms, found) if row.any())
    table = Table("the law that was found", ("term", *(f"d{n}/dt" for n in names)), rows)
    (reduced, latent), (curved, picture, numbers) = reduced_claims(x, slopes, degree), curved_code(x)
    claims: tuple[Claim, ...] = (residual_claim(x, slopes, degree, level), *reduced, curved)
    charts: tuple[Curves, ...] = (latent, picture)
    numbers |= {
        f"coefficient of {term_name(t, names)} in d{n}/dt": float(found[i, k])
        for k, n in enumerate(names)
        for i, t in enumerate(terms)
        if found[i, k]
    }
    if law is not None:
        claims = (*recovery_claims(x, slopes, law, degree, level), *claims)
        chart, errors = difference_chart(law, x[0], degree)
        charts, numbers = (*charts, chart), numbers | errors
    told = f"{int((found != 0).sum())} of {found.size} coefficients are not zero"
    return Evidence(claims, charts, numbers, (table,), summary=told)
