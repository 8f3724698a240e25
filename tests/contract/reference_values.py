"""Values that the catalogue states, each recomputed independently: knobs -> numbers of the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import e, log, pi, sqrt
from typing import Any


@dataclass(frozen=True)
class Reference:
    expected: Mapping[str, float]
    knobs: Mapping[str, Any] = field(default_factory=dict)
    rtol: float = 1e-9


SMALL = {"width": 128, "draws": 16}  # the closed forms do not depend on the experiment beside them
FEW = {"samples": 100, "steps": 50}

REFERENCE: dict[str, list[Reference]] = {
    "gd-strongly-convex": [
        Reference({"gamma": 81 / 121, "error at K": 2 * (9 / 11) ** 20}, {"kappa": 10, "steps": 10}),
        Reference({"gamma": 0.6694214876, "error at K": 0.0361431900}, {"kappa": 10, "steps": 10}, rtol=2e-9),
        Reference({"gamma": 0.9607881580}, {"kappa": 100}),
    ],
    "hoeffding-chebyshev": [
        Reference(
            {"Hoeffding radius": 0.0429469408, "printed radius": 0.0858938817, "Chebyshev radius": 0.0707106781},
            {"n": 1000, "delta": 0.05},
            rtol=2e-9,
        ),
        Reference({"Hoeffding radius": 0.1358102, "Hoeffding tail": 0.0066371}, {"n": 100, "delta": 0.05}, rtol=4e-6),
        Reference({"Hoeffding tail": 0.006637120515926126}, {"n": 100, "delta": 0.05}),
    ],
    "population-and-empirical-risk": [
        Reference({"E R_n(θ̂)": 3 / 16, "E R(θ̂)": 5 / 16, "min R": 1 / 4}, {"n": 4}),
        Reference({"E R_n(θ̂)": (1 - 1 / 7) / 4, "E R(θ̂)": (1 + 1 / 7) / 4}, {"n": 7}),
    ],
    "loss-zoo": [
        Reference({"logistic at margin 0": log(2), "cross-entropy of equal logits": log(10)}, {"classes": 10}),
        Reference({"logistic at (2, 1)": 0.126928011}, rtol=4e-9),
        Reference({"cross-entropy of equal logits": log(7)}, {"classes": 7, "margin": "hinge"}),
    ],
    "bayes-predictors": [
        Reference({"mean": 2.85, "variance": 17.2275, "median": 1, "min MAE": 2.65, "log-odds": log(4)}, {"p": 0.8})
    ],
    "mle-interpretations": [
        Reference({"NLL at θ": 1.5 * log(8 * pi) + 5.25 / 8}, {"sigma": 2.0}),
        Reference({"NLL at θ": 5.4925071}, {"sigma": 2.0}, rtol=1e-8),
    ],
    "softmax-calculus": [
        Reference({"cross-entropy of equal logits": log(3), "‖J‖ at (½, ½)": 0.5, "lse at large": 1e4}),
        Reference({"cross-entropy of equal logits": log(5)}, {"classes": 5, "rows": 200}),
    ],
    "linear-model-convex-erm": [Reference({"θ 1": 13 / 9, "θ 2": 10 / 9})],
    "kernel-lift": [
        Reference(
            {"θ 1": 1, "θ 2": 1, "α 1": 0, "α 2": 0, "α 3": 1, "f(x 1)": 1, "f(x 2)": 2, "f(x 3)": 2}, {"ridge": 1.0}
        )
    ],
    "activation-zoo": [
        Reference({"tanh: slope at x": 1.8158323094380667e-4}, {"activation": "tanh", "point": 5.0}),
        Reference(
            {f"{name}: Lipschitz constant": 1.0 for name in ("tanh", "arctan", "relu", "leaky-relu")}
            | {"sigmoid: Lipschitz constant": 0.25}
        ),
        Reference({"gelu: Lipschitz constant": 1.128904145185155}, {"activation": "gelu"}),
    ],
    "barron-rate": [
        Reference({"bound": 0.1595769121605731, "C_f": 0.7978845608028654}, {"dimension": 1, "radius": 1.0, "p": 100}),
        Reference({"C_f": 3.0843278}, {"dimension": 10, "p": 100}, rtol=2e-8),
    ],
    "hat-function": [
        Reference({"sup |f − h|": 0, "integral": 1, "hidden neurons": 3, "printed formula at 2": 1, "iterate at 2": 1}),
        Reference({"iterate at 2": 0}, {"iterates": 3}),
    ],
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
    "conv-iff-equivariant": [
        Reference(
            {
                "free parameters": 96,
                "dense parameters": 1536,
                "commutant dimension": 16,
                "largest commutator": 0,
                "distance to the convolution": 0,
            }
        ),
        Reference(
            {"eigenvalue 0": 0, "eigenvalue 1": 2, "eigenvalue 2": 4, "eigenvalue 3": 2},
            {"kernel": "Laplacian", "dimension": 1, "inputs": 1, "outputs": 1},
        ),
    ],
    "lipschitz-bounds": [
        Reference({"steepest secant": 1, "product of norms": 2}, {"kind": "absolute value"}),
        Reference(
            {"product of norms": 4, "steepest secant": 4, "norm of layer 1 by frequencies": 4},
            {"kind": "second difference", "inputs": 8},
        ),
    ],
    "autoencoder-svd-rom": [
        Reference(
            {"Frobenius error": sqrt(5), "spectral error": 2, "error of the autoencoder": sqrt(5)},
            {"data": "diagonal 3 2 1", "rank": 1},
        ),
        Reference({"Frobenius error": 1, "spectral error": 1}, {"data": "diagonal 3 2 1", "rank": 2}),
    ],
    "worked-example-graph": [
        Reference({"value": 1, "∂θ1": 2, "∂θ2": 1.5, "adjoint of θ5": 0.5}),
        Reference(
            {"value": 5.2416212208, "∂θ1": 7.8624318312, "∂θ2": 7.1575873005}, {"theta1": 1, "theta2": 1}, rtol=1e-10
        ),
        Reference(
            {"value": 13.7927705622, "∂θ1": 20.6891558433, "∂θ2": 9.8088584253}, {"theta1": 1, "theta2": 2}, rtol=1e-10
        ),
    ],
    "neural-ode-limit": [
        Reference({"output": 2.5937424601}, {"depth": 10}, rtol=1e-10),
        Reference({"output": 2.7048138294}, {"depth": 100}, rtol=1e-10),
        Reference({"C": (e - 1) * e / 2}),
        Reference({"T × error at T → ∞": e / 2}, rtol=1e-5),  # extrapolated from the two largest depths
        Reference({"norm of the output": 1.2177482713}, {"flow": "rotation", "depth": 100}, rtol=1e-10),
    ],
    # At φ = π/3 the catalogue prints .304498903 and .471165570 for (√3/2 + π/3)/2π = .3044988905… and
    # that plus 1/6: its eighth decimal is off.
    "ntk-kernel": [
        Reference(
            {
                "two-layer NNGP": (sqrt(3) / 2 + pi / 3) / (2 * pi),
                "two-layer σ′σ′": 1 / 3,
                "two-layer NTK": (sqrt(3) / 2 + pi / 3) / (2 * pi) + 1 / 6,
            },
            {"angle": 60, **SMALL},
            rtol=1e-12,
        ),
        Reference({"Θ_L at φ": 0.3183098862}, {"angle": 90, "layers": 1, **SMALL}),
        Reference({"Θ_L at φ": 0.6857086363}, {"angle": 90, "layers": 2, **SMALL}),
        Reference({"Θ_L at φ": 1.0603881068, "Θ_L at 0": 4}, {"angle": 90, "layers": 3, **SMALL}),
        Reference({"textbook flow 1": 0.791166745, "textbook flow 2": 0.159046186}, {"time": 1, **SMALL}, rtol=4e-9),
    ],
    "clustering-closed-forms": [
        Reference({"cosine": 0.7615941560}, {"beta": 0, "time": 1, "tokens": 2}),
        Reference({"cosine": 0.6149794590}, {"beta": 0, "time": 1, "tokens": 4}),
        Reference({"cosine": 0.5791953369}, {"beta": 1, "time": 1, "tokens": 2}),
        Reference({"cosine": 0.4794867822}, {"beta": 1, "time": 1, "tokens": 4}),
        Reference({"cosine": 0.8940097769}, {"beta": 1, "time": 1, "tokens": 3, "kind": "unnormalised"}),
    ],
    "diffusion-score": [
        Reference(
            {"variance at t": 1.4060058497, "denoised x": 4},
            {"components": 1, "spread": 2, "time": 1, "noise": 1, "probe": 5, **FEW},
        ),
        Reference(
            {"score at x": 1.0707032964},
            {"components": 2, "separation": 2, "spread": 1, "time": 0, "probe": 0.7, **FEW},
        ),
    ],
    "network-description-realisation": [
        Reference({"parameters": 32, "connections": 25, "neurons": 5, "maps": 3}),
        Reference({"parameters": 535_818}, {"sizes": "784-512-256-10"}),
    ],
    "depth-conventions": [Reference({"L (Gribonval, Scaman)": 2, "D with a linear head (Peyré)": 2, "L (Murari)": 1})],
    "degenerate-activations": [
        Reference({"degree": 8, "bound": 8, "dimension of the polynomials": 45}),
        Reference({"degree": 1, "best squared distance to |x|": 1 / 6}, {"activation": "identity"}),
        Reference({"bound": 2, "best squared distance to |x|": 1 / 96}, {"maps": 2}),
    ],
    "two-layer-ridge-sum": [
        Reference({"sup error of the interpolation": 0.0025}, {"cells": 10}),
        Reference({"sup error of the interpolation": 2.5e-7}, {"cells": 1000}),
    ],
    "relu-net-is-cpa": [
        Reference({"activation cells": 7, "linear regions": 7}, {"kind": "three lines"}),
        Reference({"activation cells": 4, "linear regions": 1}, {"kind": "identity"}),
        Reference({"activation cells": 4, "linear regions": 4}, {"kind": "|x₁| + |x₂|"}),
    ],
    "regions-deep": [
        Reference(
            {"lower bound": 176, "product bound": 1331, "pieces": 176, "regions, Montúfar": 176, "regions, folding": 64}
        ),
        Reference({"Serra bound": 40, "product bound": 49}, {"width": 3, "hidden_layers": 2}),
        Reference({"pieces": 64}, {"kind": "folding"}),
    ],
    "regions-shallow": [
        *(
            Reference({"regions": r, "Σ|μ|": r, "regions in general position": r}, {"hyperplanes": n, "inputs": d})
            for n, d, r in ((3, 2, 7), (4, 2, 11), (5, 2, 16), (4, 3, 15), (6, 3, 42), (10, 3, 176))
        ),
        Reference({"regions": 14, "Σ|μ|": 14}, {"hyperplanes": 4, "inputs": 3, "position": "central"}),
        Reference({"bounded regions": 6}),
    ],
    "yarotsky-square": [
        *(
            Reference({"error of the square": 4.0 ** -(m + 1), "neurons of the square": 3 * m}, {"levels": m})
            for m in (1, 2, 3)
        ),
        Reference({"f_m at the point": 0.1}, {"levels": 2, "point": 0.3}),
    ],
    "relu-univariate-zoo": [
        Reference({"kinks": 2, "neurons": 2, "fewest neurons possible": 2, "formula for x^0 at 1": 2}),
        Reference({"kinks": 1, "neurons": 2}, {"function": "absolute value"}),
        Reference({"kinks": 0, "neurons": 2}, {"function": "identity"}),
    ],
    "max-network": [
        Reference(
            {
                "hidden layers": 3,
                "neurons": 16,
                "hidden layers of the tree": 3,
                "hidden layers of the chain": 4,
                "neurons of the tree": 16,
            }
        ),
        Reference({"hidden layers": 3, "neurons": 21, "hidden layers of the chain": 7}, {"numbers": 8}),
    ],
    "network-calculus": [
        Reference({"L": 3, "N": 16, "W": 104, "L after padding": 5, "N after padding": 24, "W after padding": 128})
    ],
    "cpa-1d-one-hidden-layer": [
        Reference({"f(x)": 1}, {"at": 2.5}),
        Reference({"f(x)": 16, "kinks": 2, "neurons": 3, "slope to the right": 2}, {"at": 10}),
    ],
    "pieces-1d": [
        Reference({"product bound": 81, "pieces of the tent": 64}),
        Reference({"pieces at widths (2, 2)": 7, "pieces at widths (3, 2)": 12, "weights of the zig-zags": 20}),
        Reference({"pieces": 7, "product bound": 9}, {"kind": "two by two"}),
        Reference({"pieces of the tent": 1024}, {"folds": 10}),
    ],
    "depth-separation": [
        Reference({"nodes of f": 18, "layers of f": 12, "pieces of f": 64, "∫|f − ½|": 0.25}),
        Reference({"nodes of f": 33, "layers of f": 22, "pieces of f": 2048, "∫|f − ½|": 0.25}, {"layers": 3}),
        Reference({"pieces of g": 1, "∫|f − g|": 0.25, "bound by crossings": 0.125}, {"kind": "½"}),
    ],
    "sparse-connection-approximation": [
        Reference({"W": 20, "L": 4, "pieces": 25, "α": 2}),
        Reference({"W": 24, "L": 6, "pieces": 64}, {"a": 4, "k": 3}),
    ],
    "cpa-partition-composition": [
        Reference({"cells": 2, "cells listed": 3, "cells of f": 2}, {"kind": "r∘r"}),
        Reference({"cells": 4, "cells listed": 6}, {"kind": "h∘h", "after": 2}),
        Reference({"listed for r∘r": 3, "cells of r∘r": 2}),
    ],
    "convex-cpa-and-dc": [
        Reference({"g(x)": 1.5, "h(x)": 1.0, "hyperplanes in h": 1, "pieces of g": 3}, {"kind": "hat", "at": 0.5}),
        Reference({"g(x)": 4.0, "h(x)": 4.0}, {"kind": "hat", "at": 2.0}),
        Reference({"g(x)": 2.0, "h(x)": 2.0}, {"kind": "hat", "at": 2.0, "ridge": "|ν|"}),
    ],
    "cpa-to-relu-compiler": [Reference({"M": 6, "L": 4})],
    "cpa-depth-bound": [
        *(
            Reference({"affine maps that are enough": L, "hidden layers used": L - 1}, {"inputs": d, "forms": 2})
            for d, L in ((1, 2), (2, 3), (3, 3), (4, 4), (7, 4), (8, 5), (15, 5), (16, 6))
        ),
        *(
            Reference({"hidden layers that are enough": old, "since 2025": new}, {"inputs": d, "forms": 2})
            for d, old, new in ((4, 3, 2), (10, 4, 3), (28, 5, 4))
        ),
        Reference({"hidden layers needed at least": 2}),
    ],
    "one-hidden-layer-not-integrable": [
        Reference(
            {"integral of the ridge hat": 6, "hyperplanes that survive": 3, "limit of |f| on the ray": 0.5},
            {"radius": 3},
        ),
        Reference({"integral of the ridge hat": 200}, {"radius": 100}),
        Reference({"hyperplanes that survive": 0, "limit of |f| on the ray": 0}, {"kind": "zero in disguise"}),
    ],
    "fem-basis-relu": [
        Reference(
            {
                "integral of the uniform hat": 1,
                "φ(½, 0)": 0.5,
                "φ(½, −½)": 0,
                "neurons in dimension 1": 3,
                "affine maps in dimension 1": 2,
                "affine maps in dimension 2": 3,
                "affine maps in dimension 3": 3,
                "Poisson: sup error": 1 / 512,
            }
        )
    ],
    "relu-symmetries-conservation": [
        Reference({"factor of a² − w²": 0.96, "copies at tanh width 3": 48}),
        Reference({"factor of a² − w²": 0}, {"tau": 0.5}),
    ],
    "forward-mode-and-finite-differences": [
        Reference({"one-sided difference": 1.00501670842, "forward mode": 1.0, "evaluations": 5}, {"epsilon": 0.01}),
        Reference({"evaluations": 2}, {"dimension": 1}),
    ],
    "reverse-mode": [Reference({"forward multiplications": 830, "backward multiplications": 1460})],
    "backprop-mlp": [Reference({"neuron ∂w1": 1.5, "neuron ∂w2": 3.0, "neuron ∂w3": 4.5})],
    "training-loop": [
        Reference({"θ 1": 13 / 9, "θ 2": 10 / 9, "least squares loss": 4 / 27, "loss at K": 4 / 27}),
        Reference({"loss at the start": 14 / 3}, {"steps": 5}),
    ],
    "first-order-family": [
        Reference({"F_k − F* on the Huber function": 0.4}, {"smoothness": 3.0, "radius": 2.0, "steps": 7}),
        Reference(
            {"heavy ball factor": 9 / 11, "Hessian entries of GPT-1": 116_534_784**2}, {"kappa": 100.0, "steps": 7}
        ),
    ],
    "nonconvex-stationarity": [
        Reference(
            {"F₀ − F*": 1.4161468365471424, "bound": 0.056645873461885696}, {"start": 2.0, "steps": 50, "step": 1.0}
        )
    ],
    "sgd-robbins-monro": [
        Reference(
            {"constant-step floor": 0.1 / 1.9, "E e² at the end, constant step": 0.1 / 1.9, "E e² at the end": 1 / 999}
        ),
        Reference({"constant-step floor": 1 / 3}, {"constant_step": 0.5}),
        Reference({"Π(1 − 1/(4ℓ)), ℓ ≤ 10⁴": 0.0816041}, rtol=1e-6),
    ],
    "adam": [
        Reference({"θ₁ after 1, −1": -0.1, "θ₂ after 1, −1": -9 / 95, "Adam ends at": 1.0, "best point": -1.0}),
        Reference({"θ₂ after 1, −1": -0.0947368}, rtol=5e-7),
    ],
    "nonsmooth-proximal": [
        Reference(
            {"forward–backward at worst": 3 / 7, "sub-gradient at worst, 36 steps": 1 / 6, "S_½(2)": 1.5}, {"steps": 7}
        )
    ],
    "function-classes": [
        Reference({"L": 10, "μ": 1}),
        Reference({"L": 1, "μ": -1 / 3}, {"kind": "half tanh squared", "dimension": 1}),
    ],
    "gd-step-regimes": [
        Reference({"factor": 1.1, "τ": 0.21}, {"step": 2.1}),
        Reference({"best factor": 9 / 11, "squared error at K, best step": 2 * (9 / 11) ** 20}, {"steps": 10}),
        Reference({"squared error at K, best step": 0.0361431900}, {"steps": 10}, rtol=2e-9),
    ],
    "pl-inequality": [
        Reference({"best μ": 0.1755309859, "L": 8}, rtol=2e-10),
        Reference({"where": 2.20171}, rtol=5e-7),
    ],
    "gradient-product-bound": [
        Reference({"0.5^9": 0.001953125, "0.25^9": 4.0**-9}),
        Reference({"slope of tanh at 5": 1.8158323094380667e-4}),
    ],
    "signal-propagation-init": [Reference({"factor at s² = 1/n": 0.5, "factor at s² = 2/n": 1})],
    "nonconvex-tanh": [
        Reference(
            {"a*": 0.6584789485, "L(a*)": 1 / 6, "least curvature": -1 / 3, "largest slope": 2 / (3 * sqrt(3))},
            rtol=1e-10,
        ),
        Reference({"steps K": 2762}),
    ],
    "landscape-equivalent-minima": [
        Reference(
            {
                "least eigenvalue at 0": -1,
                "largest eigenvalue at 0": 1,
                "least on aw = 1": 0,
                "largest at (2, ½)": 4.25,
                "copies": 48,
            }
        )
    ],
    "implicit-bias": [
        Reference({"limit 1": 1, "limit 2": 1, "margin": sqrt(2)}, {"kind": "one equation"}),
        Reference({"limit 1": 1.5, "limit 2": 0.5}, {"kind": "one equation", "start": 1.0}),
    ],
    "open-problems-register": [Reference({"entries": 1, "seeds": 4}, {"problem": "grokking", "seeds": 4})],
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
        Reference({"OLS risk at new rows / σ²": 1.3571429}, {"n": 20, "p": 5, "steps": 100}, rtol=4e-8),
        Reference(
            {"OLS training risk / σ²": 0.9, "OLS risk at new rows / σ²": 49 / 44}, {"n": 50, "p": 5, "steps": 100}
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
        Reference({"labellings": 198, "VC dimension of halfspaces": 5}, {"dimension": 4, "points": 8}),
    ],
    "runge": [
        Reference({"error, equispaced": 0.4327, "error, Chebyshev": 0.5559}, {"degree": 5, "steps": 10}, rtol=1e-4),
        Reference({"error, equispaced": 1.9157, "error, Chebyshev": 0.10915}, {"degree": 10, "steps": 10}, rtol=5e-5),
        Reference({"error, equispaced": 59.822, "error, Chebyshev": 0.015334}, {"degree": 20, "steps": 10}, rtol=2e-5),
        Reference({"Λ, equispaced": 29.900, "Λ, Chebyshev": 2.4894}, {"degree": 10, "steps": 10}, rtol=2e-5),
        Reference({"ρ": (1 + sqrt(26)) / 5, "best error": 25 / 52 * ((1 + sqrt(26)) / 5) ** -10}, {"steps": 10}),
    ],
    "extrapolation-ood": [
        Reference({"slope at infinity": 2.0, "last kink": 2.0}, {"kind": "four points"}),
        Reference({"E_p[w²]": e}, {"kind": "four points", "move": 1.0, "spread": 1.0, "draws": 100}),
    ],
    "structure-preserving-networks": [
        Reference(
            {"det of leapfrog": 1.0, "det of Euler": 1.25, "energy factor of Euler": 1.25**10}, {"h": 0.5, "steps": 10}
        ),
        Reference(
            {"u(1) of the solution": 1 / e, "u(1) of the polynomial": 1 / e}, {"property": "physics", "degree": 10}
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
    "double-descent-networks": [Reference({"parameters of the widest": 4810}, {"points": 3, "steps": 20, "seeds": 1})],
    "explicit-regularisation": [
        Reference({"θ 1": 1, "θ 2": 1, "filter at 1": 1, "risk of the best ridge": 0.8, "best ridge": 0.25}),
        Reference({"filter at 0.1": 0.6513215599}),
        Reference(
            {"filter at 0.1": 1 - 0.9**10, "Adam with the penalty": 3.7, "Adam with decoupled decay": 3.584186},
            {"kind": "three points"},
        ),
    ],
    "noise-dropout-augmentation": [Reference({"dropout loss of the example": 14, "noise loss of the example": 9.02})],
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
            {"penalty of the linear map": 16, "noise loss of the example": 9.02, "x² at 1: what s² multiplies": 6},
            {"steps": 50},
        )
    ],
    "overparam-gd": [Reference({"λ₀ at 60°": 1 / 3, "λ₀ at 90°": 1 / 2}, {"width": 64, "steps": 10, "draws": 2})],
    "mean-field-limit": [
        Reference({"mean": 1 / sqrt(2 * pi), "variance": 1 / 2 - 1 / (2 * pi)}, {"width": 64, "draws": 64, "steps": 1}),
        Reference({"RMSE at q = 100": 0.0583819}, {"width": 64, "draws": 64, "steps": 1}, rtol=1e-6),
    ],
    "stone-weierstrass": [
        Reference({"B_n |x − ½| at ½": 252 / 2048, "B_n x² − x² at ½": 1 / 40}, {"n": 10}),
        Reference({"B_n x² − x² at ½": 1 / 160}, {"n": 40}),
    ],
    "uat-cybenko-hornik": [
        Reference({"error of n jumps for x": 1 / 20}, {"cells": 10}),
        Reference({"error of n jumps for x": 1 / 48}),
    ],
    "uat-nonpolynomial-iff": [Reference({"floor of parabolas": 1 / 8}, {"width": 2})],
    "uat-step2-mollification": [
        Reference({"ReLU smoothed at 0": 0.125}, {"width": 0.5}),
        Reference({"ReLU smoothed at 0": 0.0625}, {"width": 0.25, "neurons": 4}),
    ],
    "uat-step3-monomials": [
        # the catalogue prints 1.0100585845; ((e^0.01 − 1)/0.01)² = 1.01005858419695…
        Reference({"quotient of exp at 1": 1.0100585841969507, "tanh‴(0)": -2}, {"power": 2, "step": 0.01}),
        Reference({"ϱ^(k)(b)": -2}, {"activation": "tanh", "power": 3}),
    ],
    "barron-norm": [
        Reference({"Gaussian in d": 0.7978845608, "hat up to Λ": 3.3024871446045765}, {"dimension": 1, "cut": 100.0}),
        Reference({"Gaussian in d": 1.2533141373}, {"dimension": 2}),
        Reference({"Gaussian in d": 1.5957691216}, {"dimension": 3}),
        Reference({"Gaussian in d": 3.0843278}, {"dimension": 10}, rtol=2e-8),
        Reference({"C_f": 3.75}, {"name": "waves", "points": 64}),
    ],
    "no-free-lunch": [
        Reference({"mean error": 1 / 2}, {"learner": name, "points": 6, "train": 3})
        for name in ("nearest neighbour", "majority", "contrarian", "trained network")
    ],
}
