"""Chapter generalisation."""

from math import e, log, sqrt

from .reference import Reference

VALUES = {
    "double-descent": [
        Reference(
            {
                "risk at p = 0": 1.25,
                "risk at p = 10": 2.4277777777777776,
                "risk at p = 18": 20.33,
                "risk at p = 22": 21.65,
                "risk at p = 40": 1.944736842105263,
                "risk at p = 100": 1.1132911392405063,
            }
        )
    ],
    "error-decomposition": [
        Reference(
            {
                "OLS training risk / σ²": 0.75,
                "OLS risk at the same rows / σ²": 1.25,
                "OLS risk at new rows / σ²": 19 / 14,
                "sum of the terms less the risk, relative": 0.0,
                "noise floor": 0.09,
            },
            {"n": 20, "p": 5, "steps": 100},
        ),
        Reference(
            {"OLS risk at new rows / σ²": 1.3571429}, {"n": 20, "p": 5, "steps": 100}, rtol=4e-8
        ),
        Reference(
            {"OLS training risk / σ²": 0.9, "OLS risk at new rows / σ²": 49 / 44},
            {"n": 50, "p": 5, "steps": 100},
        ),
    ],
    "vc-uniform-convergence": [
        Reference({"labellings": 8, "largest shattered subset": 3}, {"points": 3}),
        Reference({"labellings": 14, "largest shattered subset": 3}, {"points": 4}),
        Reference(
            {
                "labellings": 22,
                "Sauer–Shelah": 26,
                "share of 2(d+1) points": 0.5,
                "rows for the finite class": 530,
                "Rademacher of 16 orthonormal rows": 0.25,
                "VC radius": sqrt(8 * (3 * log(2000 * e / 3) + log(80)) / 1000),
            }
        ),
        Reference(
            {"labellings": 198, "VC dimension of halfspaces": 5}, {"dimension": 4, "points": 8}
        ),
    ],
    "runge": [
        Reference(
            {"error, equispaced": 0.4327, "error, Chebyshev": 0.5559},
            {"degree": 5, "steps": 10},
            rtol=1e-4,
        ),
        Reference(
            {"error, equispaced": 1.9157, "error, Chebyshev": 0.10915},
            {"degree": 10, "steps": 10},
            rtol=5e-5,
        ),
        Reference(
            {"error, equispaced": 59.822, "error, Chebyshev": 0.015334},
            {"degree": 20, "steps": 10},
            rtol=2e-5,
        ),
        Reference(
            {"Λ, equispaced": 29.900, "Λ, Chebyshev": 2.4894},
            {"degree": 10, "steps": 10},
            rtol=2e-5,
        ),
        Reference(
            {"ρ": (1 + sqrt(26)) / 5, "best error": 25 / 52 * ((1 + sqrt(26)) / 5) ** -10},
            {"steps": 10},
        ),
    ],
    "extrapolation-ood": [
        Reference({"slope at infinity": 2.0, "last kink": 2.0}, {"kind": "four points"}),
        Reference(
            {"E_p[w²]": e}, {"kind": "four points", "move": 1.0, "spread": 1.0, "draws": 100}
        ),
    ],
    "structure-preserving-networks": [
        Reference(
            {"det of leapfrog": 1.0, "det of Euler": 1.25, "energy factor of Euler": 1.25**10},
            {"h": 0.5, "steps": 10},
        ),
        Reference(
            {"u(1) of the solution": 1 / e, "u(1) of the polynomial": 1 / e},
            {"property": "physics", "degree": 10},
        ),
    ],
    "grokking": [
        Reference(
            {
                "pairs": 529,
                "logit of the right class": 22,
                "logit of a wrong class": -1,
                "accuracy of the Fourier network": 1,
            }
        ),
        Reference(
            {
                "pairs": 9409,
                "logit of the right class": 96,
                "logit of a wrong class": -1,
                "accuracy of the Fourier network": 1,
            },
            {"p": 97, "steps": 10, "seeds": 1, "hidden": 16},
        ),
    ],
    "double-descent-random-features": [
        Reference(
            {
                "limit at N = n/2": 1.1195042344873656,
                "limit at N = 2n": 0.753204114917593,
                "limit at N = 4n": 0.4899549311791527,
            }
        )
    ],
    "double-descent-networks": [
        Reference({"parameters of the widest": 4810}, {"points": 3, "steps": 20, "seeds": 1})
    ],
    "explicit-regularisation": [
        Reference(
            {
                "θ 1": 1,
                "θ 2": 1,
                "filter at 1": 1,
                "risk of the best ridge": 0.8,
                "best ridge": 0.25,
            }
        ),
        Reference({"filter at 0.1": 0.6513215599}),
        Reference(
            {
                "filter at 0.1": 1 - 0.9**10,
                "Adam with the penalty": 3.7,
                "Adam with decoupled decay": 3.584186,
            },
            {"kind": "three points"},
        ),
    ],
    "noise-dropout-augmentation": [
        Reference({"dropout loss of the example": 14, "noise loss of the example": 9.02}),
        Reference(
            {
                "4 generated copies, no bias: share of the excess risk": 1 / 5,
                "4 generated copies, fitted to the same rows: share of the excess risk": 29 / 25,
            }
        ),
    ],
    "normalisation-layers": [
        Reference(
            {
                "‖w₁‖² of one unit": 5.128,
                "‖LN(1, 2, 3, 4)‖²": 4,
                "LN(1, 2, 3, 4)₁": -3 / sqrt(5),
                "variance of pairs": 7 / 9,
            },
            {"steps": 10},
        )
    ],
    "architecture-and-stability-penalties": [
        Reference(
            {"penalty of the linear map": 16, "noise loss of the example": 9.02}, {"steps": 50}
        )
    ],
}
