"""A wide ReLU network with random weights has a deterministic tangent kernel, in closed form."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from flint import arb  # type: ignore[import-untyped]

from ftheta.kernels.lazy import Lazy, lazy_training
from ftheta.logic import (
    AtMost,
    Axis,
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
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.networks import Description
from ftheta.spectra import eigenvalue_range
from ftheta.subjects import Family, Network
from ftheta.subjects.layers import read_off_layers
from ftheta.theorems.orders import observed_order

from . import tangent
from .relu import (
    WideLimit,
    gaussian_p_value,
    he_network,
    he_params,
    kernel_flow,
    rescale,
    sign_params,
    two_layer,
)


def random_networks(
    rng: np.random.Generator,
    *,
    weights: Annotated[
        str, Knob(says="law of the weights", symbol="w", choices=("gaussian", "signs"))
    ] = "gaussian",
    layers: Annotated[int, Knob(1, 4, "number of hidden layers", "L")] = 1,
    width: Annotated[int, Knob(128, 1024, "width of the widest network", "m", log=True)] = 1024,
) -> Family:
    def member(m: int, rng: np.random.Generator) -> Network:
        params = sign_params(m, layers) if weights == "signs" else he_params(rng, 2, m, layers)
        return Network(f"{layers} hidden layers of {m}", he_network, params, (2,))

    limit = WideLimit((1.0,) * layers)
    scales = [width >> k for k in (4, 2, 0)]
    return Family(f"{weights} ReLU networks, L = {layers}", member, limit, scales)


@hypothesis(
    "fully connected, ReLU, no biases",
    remedy="give such a network, or a Family whose limit is a WideLimit",
    name="a known infinite-width limit",
)
def limit_known(subject: Family | Network) -> Finding:
    if isinstance(subject, Family):
        if not isinstance(subject.limit, WideLimit):
            return Finding.failed("the limit of the family is not known")
        return Finding.assumed(f"hidden ReLU layers: {len(subject.limit.gains)}")
    if subject.description is None or rescale(subject.description) is None:
        return Finding.failed("biases, or another architecture")
    return read_off_layers(subject, "fully connected, ReLU, no biases", "read off its own list")


@hypothesis(
    "the weights are independent centred Gaussians",
    remedy="give the weights as they were initialised",
    name="independent Gaussian weights",
)
def gaussian_weights(subject: Family | Network) -> Finding:
    if isinstance(subject, Family):
        width = subject.scales[-1]
        if not tangent.is_random(subject.member, width):
            return Finding.failed("two draws of a member are the same: its weights are not random")
        net = subject.member(width, np.random.default_rng(0))
    else:
        net = subject
    p, where = gaussian_p_value(net.params)
    note = (
        f"p-value {p:.2g} of the hypothesis of Gaussian weights ({where}); required: at least 1e-06"
    )
    return (Finding.sampled if p >= 1e-6 else Finding.failed)(
        note, Enclosure.measured(p, samples=net.parameters)
    )


@theorem(
    title="Neural tangent kernel",
    gist="A very wide network at random initialisation has a deterministic tangent kernel that training hardly moves, "
    "so its training is kernel regression and can be analysed.",
    see_also=("overparam-gd", "mean-field-limit", "chizat-bach", "kernel-lift"),
    sources=("peyre-slides", "scaman-slides", "jacot2018", "cho2009", "chizat2019"),
    of_parameters=True,
    assumes=(limit_known, gaussian_weights),
    on=random_networks,
    breaks_on=lambda rng: random_networks(rng, weights="signs"),
    presets={
        "textbook": {},
        "deep": {"layers": 3, "width": 512},
        "at the edge": {"angle": 180.0, "width": 128},
        "broken on purpose": {"weights": "signs"},
    },
)
def ntk_kernel(
    subject: Family | Network,
    rng: np.random.Generator,
    *,
    angle: Annotated[float, Knob(0, 180, "angle between the two inputs, in degrees", "φ")] = 60.0,
    draws: Annotated[
        int, Knob(16, 512, "random networks at each width", "N", log=True, most=4096)
    ] = 192,
    time: Annotated[float, Knob(0, 10, "training time of the linearised network", "t")] = 1.0,
) -> Evidence:
    r"""$L$ ReLU layers of width $m$, scaled by $\sqrt{2/m}$, with standard Gaussian weights have on unit inputs the
    tangent kernel $\langle\partial_\theta f(x),\partial_\theta f(x')\rangle=\Theta_L(x,x')+O(m^{-1/2})$, where
    $$\Sigma_{l+1}=\kappa_1(\Sigma_l),\quad\Theta_{l+1}=\Sigma_{l+1}+\Theta_l\,\kappa_0(\Sigma_l),\quad
    \kappa_0=\tfrac{\pi-\varphi}\pi,\quad\kappa_1=\tfrac{\sin\varphi+(\pi-\varphi)\cos\varphi}\pi,\quad\Theta_L(x,x)=L+1;$$
    training moves it by $O(m^{-1/2})$, and linearised training on $\frac12\|f-y\|^2$ from 0 is $f_t=(I-e^{-tK})y$.
    Training $\alpha(f_\theta-f_{\theta_0})$ moves $\theta$ by $O(1/\alpha)$ and tends to its linearisation."""
    if isinstance(subject, Network):
        rows = tangent.affordable(subject.parameters, 64)
        X = (
            rng.normal(size=(rows, *subject.input_shape))
            if subject.data is None
            else subject.data.x[:rows]
        )
        return evidence_of_network(subject.apply, subject.params, X, subject.description)
    found = tangent.measure_kernels(
        subject.member, subject.scales, subject.limit, np.deg2rad(angle), draws, rng
    )
    lazy = lazy_training(subject.member(subject.scales[0], rng), found.X, found.y)
    lowest = eigenvalue_range(found.ntk[2:, 2:])[0]
    trained, formula = (Enclosure.equal(f) for f in found.train_linearised(time))
    mean = found.mean(0, 1)
    return Evidence(
        claims=(
            *claims_about_mean(found),
            AtMost("−λ_min of Θ", -lowest, Enclosure.exact(0), atol=1e-12),
            Identity("f_t of linearised training", trained, formula, rtol=1e-7, atol=1e-9),
            *observed_order(
                "fluctuation of Θ̂ around Θ", 0.5, *found.fluctuations(), sharp=True, slack=0.2
            ),
            *observed_order("movement of Θ̂ in training", 0.5, *found.movements(), slack=0.2),
            *_claims_about_lazy_training(lazy),
        ),
        examples=partial(_examples, found.layers, found.X[:1], np.deg2rad(angle), time),
        charts=(_draw_against_angle(found), _draw_against_width(found), _draw_lazy_training(lazy)),
        numbers={"Θ_L at φ": found.ntk[0, 1], "Θ_L at 0": found.ntk[0, 0], "mean of Θ̂ at φ": mean},
        summary=f"at {angle:g}° and width {found.widths[-1]:g} the mean is {mean.middle:.5g}; "
        f"the limit is {found.ntk[0, 1]:.8g}",
    )


def evidence_of_network(
    apply: tangent.Apply, params: Any, X: np.ndarray, description: Description | None
) -> Evidence:
    """The spectrum of one network's kernel on the rows of `X` and, where the limit is known, the distance to it."""
    values = np.linalg.eigvalsh(tangent.empirical_ntk(apply, params, X))[::-1]
    far = np.inf if description is None else tangent.distance_to_limit(description, X)
    width = (
        1.0 if description is None or not np.isfinite(far) else float(min(description.widths[1:-1]))
    )
    within = min(0.5, 5 / width**0.5)
    spectrum = draw_curves(
        "spectrum of the tangent kernel",
        np.arange(len(values)) + 1,
        x="index",
        y="eigenvalue",
        log="y",
        measured={"eigenvalues": np.maximum(values, values[0] * 1e-16 + 1e-300)},
    )
    what = "‖Θ̂ − Θ‖ / ‖Θ‖ on these inputs"
    return Evidence(
        claims=(
            Converges(what, Enclosure.exact(0), (Enclosure.equal(far),), (width,), within=within),
        ),
        charts=(spectrum,),
        numbers={
            "largest eigenvalue": values[0],
            "smallest eigenvalue": values[-1],
            "distance to the limit": far,
        },
        summary=f"on {len(X)} inputs the eigenvalues of the tangent kernel lie in [{values[-1]:.4g}, {values[0]:.4g}]",
    )


def claims_about_mean(found: tangent.Kernels) -> tuple[Claim, ...]:
    r"""$\hat\Theta$ has the mean $\Theta$.

    On the diagonal and for one hidden layer it has at every width; elsewhere in the limit.
    """
    own = Identity("mean of Θ̂(x, x)", found.mean(0, 0), Enclosure.equal(found.ntk[0, 0]), atol=1e-9)
    limit = Enclosure.equal(found.ntk[0, 1])
    what = "mean of Θ̂(x, x′)"
    if found.layers == 1:
        return Identity(what, found.mean(0, 1), limit, _evaluate_again(found), atol=1e-9), own
    means = tuple(
        Enclosure.measured(float(K[:, 0, 1].mean()), samples=len(K)) for K in found.kernels
    )
    return Converges(what, limit, means, tuple(found.widths), within=0.1 * (found.layers + 1)), own


def _evaluate_again(found: tangent.Kernels) -> Witness | None:
    r"""One network's $\hat\Theta$ with a bound of its rounding, beside $\kappa_1+\rho\kappa_0$ in balls.

    A sum of $p$ products is off by at most $2pu$ times the sum of their sizes, which is at most
    $\sqrt{\hat\Theta(x,x)\hat\Theta(x',x')}$; each factor has a few more roundings.
    """
    if found.random or found.limit.gains != (1.0,) or found.limit.first != 1.0:
        return None
    kernel = found.kernels[-1][0]
    size = float(np.sqrt(kernel[0, 0] * kernel[1, 1]))
    rounding = (2 * found.features.shape[-1] * found.widths[-1] + 64) * np.finfo(float).eps * size
    x, z = ([arb(float(c)) for c in row] for row in found.X[:2])
    cosine = (_dot(x, z) / (_dot(x, x) * _dot(z, z)).sqrt()).max(-1).min(1)
    angle = cosine.acos()
    limit = (angle.sin() + 2 * (arb.pi() - angle) * cosine) / arb.pi()
    left = Enclosure.around(float(kernel[0, 1]), float(rounding))
    return Witness(
        {"width": float(found.widths[-1])}, left, Enclosure.ball(limit), "the limit in balls"
    )


def _dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    return sum((s * t for s, t in zip(a, b)), arb(0))


def _claims_about_lazy_training(lazy: Lazy) -> tuple[Claim, ...]:
    """The movement is O(1/α), and the outputs tend to the linear ones; kinks make the order of these irregular."""
    moved = observed_order("movement of θ with the scale α", 1.0, lazy.scales, lazy.moved)
    apart = tuple(Enclosure.equal(float(far)) for far in lazy.apart)
    what = "distance of lazy to linearised outputs"
    return *moved, Converges(
        what, Enclosure.exact(0), apart, tuple(lazy.scales.tolist()), within=0.05
    )


def _examples(layers: int, x: np.ndarray, angle: float, time: float) -> Examples:
    """The limit on its diagonal, that of two layers at this angle, and linearised training with a kernel by hand."""
    own = WideLimit((1.0,) * layers).kernels(x)[1][0, 0]
    nngp, derivative, ntk = two_layer(angle)
    flow = kernel_flow(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0]), time)
    return Examples(
        claims=(Identity("Θ_L(x, x) = L + 1", Enclosure.equal(own), Enclosure.exact(layers + 1)),),
        numbers={
            "two-layer NTK": ntk,
            "two-layer NNGP": nngp,
            "two-layer σ′σ′": derivative,
            "textbook flow 1": flow[0],
            "textbook flow 2": flow[1],
        },
    )


def _draw_against_angle(found: tangent.Kernels) -> Curves:
    """The limit as a function of the angle, with the mean and spread of the widest networks."""
    degrees = np.linspace(0, 180, len(found.X) - 2)
    row = found.kernels[-1][:, 0, 2:]
    middle = row.mean(0)
    spread = row.std(0)
    fine = np.linspace(0, np.pi, 91)
    curve = found.limit.kernels(np.stack([np.cos(fine), np.sin(fine)], 1))[1][0]
    name = f"width {found.widths[-1]:g}, mean ± spread"
    series = (
        Series("limit", np.rad2deg(fine), curve, "reference"),
        Series(name, degrees, middle, "measured", "points", middle - spread, middle + spread),
    )
    return Curves("kernel against angle", Axis("angle in degrees"), Axis("Θ(x, x′)"), series)


def _draw_against_width(found: tangent.Kernels) -> Curves:
    """Fluctuation at initialisation and movement in training against the width."""
    scales, sizes = found.fluctuations()
    guide = np.sqrt(np.mean(sizes**2 * scales) / found.widths)
    series = (
        Series("slope −1/2", found.widths, guide, "reference"),
        Series("fluctuation at random", scales, sizes, "measured", "points"),
        Series("movement in training", *found.movements(), "other", "points"),
    )
    return Curves("distance to the limit", Axis("width m", "log"), Axis("distance", "log"), series)


def _draw_lazy_training(lazy: Lazy) -> Curves:
    guide = lazy.moved[-1] * lazy.scales[-1] / lazy.scales
    series = (
        Series("slope −1", lazy.scales, guide, "reference"),
        Series("movement of θ", lazy.scales, lazy.moved, "measured", "points"),
        Series("outputs to linearised ones", lazy.scales, lazy.apart, "other", "points"),
    )
    return Curves(
        "lazy training", Axis("output scale α", "log"), Axis("relative distance", "log"), series
    )
