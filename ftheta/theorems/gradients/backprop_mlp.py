"""Back-propagation through a perceptron: forward layer by layer, and back the same way."""

from typing import Annotated

import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.networks.backprop import Backprop, forward_pass, one_neuron
from ftheta.networks.realisation import forgetting, layers_of
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import described, describes_this_function

ROWS = 256


def perceptron(
    rng: np.random.Generator,
    *,
    width: Annotated[int, Knob(1, 64, "neurons of each hidden layer", "h", log=True, most=256)] = 8,
    depth: Annotated[int, Knob(1, 10, "number of affine maps", "L", most=40)] = 4,
    activation: Annotated[str, Knob(says="activation of the hidden layers", choices=tuple(ACTIVATIONS))] = "tanh",
    batch: Annotated[int, Knob(1, 128, "number of inputs in the batch", "n", log=True, most=1024)] = 16,
) -> Network:
    net = random_mlp(rng, (5, *(width,) * (depth - 1), 3), activation, gain=1.0, bias=0.3)
    data = Dataset("random batch", rng.normal(size=(batch, 5)), rng.normal(size=(batch, 3)))
    return Network.described(net, f"perceptron of depth {depth}").with_data(data)


def without_biases(rng: np.random.Generator) -> Network:
    net = perceptron(rng)
    wrong = forgetting(layers_of(net.description), "biases")
    return Network("perceptron told without its biases", net.apply, net.params, (5,), wrong, net.data)


def labels(net: Network) -> np.ndarray | None:
    """One row of numbers for each input: as they are, or whole numbers as unit vectors; None where they do not fit."""
    if net.data is None or net.data.y is None:
        return None
    y, outputs = net.data.y[:ROWS], int(np.prod(net.output_shape))
    if y.reshape(len(y), -1).shape[1] == outputs:
        return y.reshape(len(y), -1).astype(np.float64)
    classes = y.dtype.kind == "i" and y.ndim == 1 and y.min() >= 0 and y.max() < outputs
    return np.eye(outputs)[y] if classes else None


@hypothesis("there are inputs with labels of the network's output size", remedy="give data with x and y")
def labelled(net: Network) -> Finding:
    y = labels(net)
    return Finding.failed("no labels, or of another size") if y is None else Finding.proved(f"{len(y)} rows", "counted")


@hypothesis("no activation is at a kink on the data", remedy="move inputs or biases a little")
def off_kinks(net: Network) -> Finding:
    if net.description is None or net.data is None:
        return Finding.failed("unknown without layers and data")
    states, _ = forward_pass(net.description, net.data.x[:ROWS].reshape(-1, net.description.widths[0]))
    bent = ((y, x) for y, x in zip(net.description.layers, states) if y.activation in ("relu", "leaky-relu"))
    at = [x @ y.weight.T + y.bias == 0 for y, x in bent]
    hits = sum(int(z.sum()) for z in at)
    return Finding.decide(hits == 0, f"{hits} of {sum(z.size for z in at):,} pre-activations are 0", "in float64")


@theorem(
    title="Back-propagation in a multilayer perceptron",
    sources=("seed 0", "seed 2", "rumelhart1986"),
    of_parameters=True,
    assumes=(described, describes_this_function, labelled, off_kinks),
    on=perceptron,
    breaks_on=without_biases,
    presets={"textbook": {}, "relu": {"activation": "relu"}, "deep": {"depth": 20}, "linear": {"depth": 1, "batch": 1}},
    unbreakable="no knob makes the built-in list of layers wrong; the negative control forgets the biases",
    errata=r"""Seed 2 prints $\nabla_{x^j}\mathcal L_n$ in the middle of the parameter gradient of layer $j$; it is
    $\nabla_{x^{j+1}}\mathcal L_n$, the gradient at the output of the layer. The code of seed 0 uses a global `n`, never
    initialises `gA` and `gb`, and puts the activation after the last layer too.""",
)
def backprop_mlp(
    net: Network,
    rng: np.random.Generator,
    *,
    coordinates: Annotated[int, Knob(1, 200, "parameters compared with finite differences", "m", log=True)] = 24,
) -> Evidence:
    r"""Let $X_{r+1}=\rho(A_rX_r+b_r)$ and $\ell=\frac12\|X_L-Y\|^2$. From $g=X_L-Y$, backwards,
    $$M=\rho'(A_rX_r+b_r)\odot g,\quad\nabla A_r=MX_r^\top,\quad\nabla b_r=M\mathbf1,\quad g\leftarrow A_r^\top M$$
    gives the whole gradient: $g^j=J_xF_j^\top g^{j+1}$ and $\nabla_{\theta_j}=J_{\theta_j}F_j^\top g^{j+1}$."""
    y = labels(net)
    if net.description is None or net.data is None or y is None:
        return Evidence((), summary="layers, data and labels are needed")
    found = Backprop(net.description, net.apply, net.params, net.data.x[:ROWS], y)
    neuron, (seen, told) = one_neuron(), one_neuron()[2]
    exact = Identity("one linear neuron: ∂w₃ = (ŷ − y)x₃", Enclosure.exact(seen), Enclosure.exact(told))
    numbers = {f"neuron ∂w{k + 1}": Enclosure.exact(pair[0]) for k, pair in enumerate(neuron)}
    norm = float(np.linalg.norm(found.flow.flat))
    size, depth = found.flow.flat.size, len(net.description.layers)
    return Evidence(
        (*found.claims(rng, coordinates), exact),
        (found.picture, found.norms),
        {**numbers, "loss": float(found.loss(net.params)), "norm of the gradient": norm},
        as_printed=found.misprints(),
        summary=f"{size:,} entries from {depth} layers and {len(y)} inputs; ‖∇‖ = {norm:.6g}",
    )
