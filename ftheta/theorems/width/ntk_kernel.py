"""A wide ReLU network with random weights has a deterministic tangent kernel, in closed form."""

from typing import Annotated

import numpy as np

from ftheta.limits import tangent
from ftheta.limits import width as limits
from ftheta.limits.width.lazy import lazy_training
from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.spectra import eigenvalue_range
from ftheta.subjects import Family, Network
from ftheta.subjects.layers import read_off_layers


def random_networks(
    rng: np.random.Generator,
    *,
    weights: Annotated[str, Knob(says="law of the weights", symbol="w", choices=("gaussian", "signs"))] = "gaussian",
    layers: Annotated[int, Knob(1, 4, "number of hidden layers", "L")] = 1,
    width: Annotated[int, Knob(128, 1024, "width of the widest network", "m", log=True)] = 1024,
) -> Family:
    def member(m: int, rng: np.random.Generator) -> Network:
        params = limits.sign_params(m, layers) if weights == "signs" else limits.he_params(rng, 2, m, layers)
        return Network(f"{layers} hidden layers of {m}", limits.he_network, params, (2,))

    limit, scales = limits.WideLimit((1.0,) * layers), [width >> k for k in (4, 2, 0)]
    return Family(f"{weights} ReLU networks, L = {layers}", member, limit, scales)


@hypothesis("fully connected, ReLU, no biases", remedy="give such a network, or a Family whose limit is a WideLimit")
def limit_known(subject: Family | Network) -> Finding:
    if isinstance(subject, Family):
        known = isinstance(subject.limit, limits.WideLimit)
        return (Finding.assumed if known else Finding.failed)(f"the limit is {subject.limit}")
    if subject.description is None or limits.unscaled(subject.description) is None:
        return Finding.failed("biases, or another architecture")
    return read_off_layers(subject, "fully connected, ReLU, no biases", "read off its own list")


@hypothesis("the weights are independent centred Gaussians", remedy="give the weights as they were initialised")
def gaussian_weights(subject: Family | Network) -> Finding:
    net = subject.member(subject.scales[-1], np.random.default_rng(0)) if isinstance(subject, Family) else subject
    p, where = limits.gaussian_p_value(net.params)
    note = f"Gaussians look so unlike themselves with probability {p:.2g} ({where}); asked: at least 1e-06"
    return (Finding.sampled if p >= 1e-6 else Finding.failed)(note, Enclosure.measured(p, samples=net.parameters))


@theorem(
    title="Neural tangent kernel",
    sources=("seed 0", "seed 3", "jacot2018", "cho2009", "chizat2019"),
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
    draws: Annotated[int, Knob(16, 512, "random networks at each width", "N", log=True, most=4096)] = 192,
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
        X = rng.normal(size=(rows, *subject.input_shape)) if subject.data is None else subject.data.x[:rows]
        return tangent.evidence_of_one(subject.apply, subject.params, X, subject.description)
    s = tangent.study(subject.member, subject.scales, subject.limit, np.deg2rad(angle), draws, rng)
    lazy = lazy_training(subject.member(subject.scales[0], rng), s.X, s.y)
    own, lowest = limits.WideLimit((1.0,) * s.layers).kernels(s.X[:1])[1][0, 0], eigenvalue_range(s.ntk[2:, 2:])[0]
    trained, formula = (Enclosure.equal(f) for f in s.linearised(time))
    flow = limits.kernel_flow(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0]), time)
    (nngp, derivative, ntk), mean, m = limits.two_layer(np.deg2rad(angle)), s.mean(0, 1), s.widths[-1]
    return Evidence(
        claims=(
            *s.agreement(),
            Identity("Θ_L(x, x) = L + 1", Enclosure.equal(own), Enclosure.exact(s.layers + 1)),
            AtMost("−λ_min of Θ", -lowest, Enclosure.exact(0), atol=1e-12),
            Identity("f_t of linearised training", trained, formula, rtol=1e-7, atol=1e-9),
            *s.orders(),
            *lazy.claims(),
        ),
        charts=(s.against_angle(), s.against_width(), lazy.chart()),
        numbers={"Θ_L at φ": s.ntk[0, 1], "Θ_L at 0": s.ntk[0, 0], "mean of Θ̂ at φ": mean, "two-layer NTK": ntk}
        | {"two-layer NNGP": nngp, "two-layer σ′σ′": derivative}
        | {"textbook flow 1": flow[0], "textbook flow 2": flow[1]},
        summary=f"at {angle:g}° and width {m:g} the mean is {mean.middle:.5g}; the limit is {s.ntk[0, 1]:.8g}",
    )
