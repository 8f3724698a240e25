"""Back-propagation through a perceptron: forward layer by layer, and back the same way."""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Dag,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Vertex,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS, Description, random_mlp
from ftheta.networks.backprop import Flow, backpropagate, forward_pass
from ftheta.networks.description import require_layers
from ftheta.networks.realisation import forget
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import describes_this_function, has_layers

from .recursion import NEAR, Backprop, enclose_weight_gradient, one_neuron

ROWS = 256


def perceptron(
    rng: np.random.Generator,
    *,
    width: Annotated[int, Knob(1, 64, "neurons of each hidden layer", "h", log=True, most=256)] = 8,
    depth: Annotated[int, Knob(1, 10, "number of affine maps", "L", most=40)] = 4,
    activation: Annotated[
        str, Knob(says="activation of the hidden layers", choices=tuple(ACTIVATIONS))
    ] = "tanh",
    batch: Annotated[
        int, Knob(1, 128, "number of inputs in the batch", "n", log=True, most=1024)
    ] = 16,
) -> Network:
    net = random_mlp(rng, (5, *(width,) * (depth - 1), 3), activation, gain=1.0, bias=0.3)
    data = Dataset("random batch", rng.normal(size=(batch, 5)), rng.normal(size=(batch, 3)))
    return Network.described(net, f"perceptron of depth {depth}").with_data(data)


def without_biases(rng: np.random.Generator) -> Network:
    net = perceptron(rng)
    wrong = forget(require_layers(net.description), "biases")
    return Network(
        "perceptron described without its biases", net.apply, net.params, (5,), wrong, net.data
    )


def labels(net: Network) -> np.ndarray | None:
    """One row of numbers for each input: as they are, or whole numbers as unit vectors; None where they do not fit."""
    if net.data is None or net.data.y is None:
        return None
    y = net.data.y[:ROWS]
    outputs = int(np.prod(net.output_shape))
    if y.reshape(len(y), -1).shape[1] == outputs:
        return y.reshape(len(y), -1).astype(np.float64)
    classes = y.dtype.kind == "i" and y.ndim == 1 and y.min() >= 0 and y.max() < outputs
    return np.eye(outputs)[y] if classes else None


@hypothesis(
    "there are inputs with labels of the network's output size",
    remedy="give data with x and y",
    name="labelled data",
)
def has_labels(net: Network) -> Finding:
    y = labels(net)
    return (
        Finding.failed("no labels, or of another size")
        if y is None
        else Finding.proved(f"{len(y)} rows", "counted")
    )


@hypothesis(
    "no activation is at a kink on the data",
    remedy="move inputs or biases a little",
    name="no activation at a kink",
)
def off_kinks(net: Network) -> Finding:
    if net.description is None or net.data is None:
        return Finding.undecided("layers and data")
    states, _ = forward_pass(
        net.description, net.data.x[:ROWS].reshape(-1, net.description.widths[0])
    )
    bent = (
        (y, x)
        for y, x in zip(net.description.layers, states)
        if y.activation in ("relu", "leaky-relu")
    )
    at = [x @ y.weight.T + y.bias == 0 for y, x in bent]
    hits = sum(int(z.sum()) for z in at)
    return Finding.decide(
        hits == 0, f"{hits} of {sum(z.size for z in at):,} pre-activations are 0", "in float64"
    )


@theorem(
    title="Back-propagation in a multilayer perceptron",
    sources=("peyre-slides", "murari-slides", "rumelhart1986"),
    gist="Back-propagation is the chain rule applied from the output backwards: one pass through the layers gives the "
    "gradient in every weight, and training rests on it.",
    see_also=("reverse-mode", "gradient-product-bound", "training-loop", "worked-example-graph"),
    of_parameters=True,
    assumes=(has_layers, describes_this_function, has_labels, off_kinks),
    on=perceptron,
    breaks_on=without_biases,
    presets={
        "textbook": {},
        "relu": {"activation": "relu"},
        "deep": {"depth": 20},
        "linear": {"depth": 1, "batch": 1},
    },
    unbreakable="no knob makes the built-in list of layers wrong; the negative control forgets the biases",
    errata=r"""Murari's slides print $\nabla_{x^j}\mathcal L_n$ in the middle of the parameter gradient of layer $j$;
    it is $\nabla_{x^{j+1}}\mathcal L_n$, the gradient at the output of the layer. The code of Peyré's slides uses
    a global `n`, never initialises `gA` and `gb`, and puts the activation after the last layer too.""",
)
def backprop_mlp(
    net: Network,
    rng: np.random.Generator,
    *,
    coordinates: Annotated[
        int, Knob(1, 200, "parameters compared with finite differences", "m", log=True)
    ] = 24,
) -> Evidence:
    r"""Let $X_{r+1}=\rho(A_rX_r+b_r)$ and $\ell=\frac12\|X_L-Y\|^2$. From $g=X_L-Y$, backwards,
    $$M=\rho'(A_rX_r+b_r)\odot g,\quad\nabla A_r=MX_r^\top,\quad\nabla b_r=M\mathbf1,\quad g\leftarrow A_r^\top M$$
    gives the whole gradient: $g^j=J_xF_j^\top g^{j+1}$ and $\nabla_{\theta_j}=J_{\theta_j}F_j^\top g^{j+1}$."""
    y = labels(net)
    if net.description is None or net.data is None or y is None:
        return Evidence((), summary="layers, data and labels are needed")
    found = Backprop(net.description, net.apply, net.params, net.data.x[:ROWS], y)
    norm = float(np.linalg.norm(found.flow.flat))
    size = found.flow.flat.size
    depth = len(net.description.layers)
    return Evidence(
        claims=_claim_agreement(found, rng, coordinates),
        charts=(_draw_flow(found.flow), _draw_norms(found.flow)),
        numbers={"loss": float(found.loss(net.params)), "norm of the gradient": norm},
        as_printed=misprints(found),
        summary=f"{size:,} entries from {depth} layers and {len(y)} inputs; ‖∇‖ = {norm:.6g}",
        examples=_examples,
    )


def _claim_agreement(
    found: Backprop, rng: np.random.Generator, coordinates: int
) -> tuple[Claim, ...]:
    """Relative to the largest entry: the recursion and reverse mode, the recursion and differences."""
    gap = np.abs(found.flow.flat - found.reverse) / found.scale
    worst = int(np.argmax(gap))
    chosen = rng.permutation(gap.size)[:coordinates]
    apart = np.array([abs(found.flow.flat[k] - found.difference(k)) / found.scale for k in chosen])
    return (
        AtMost(
            "recursion and reverse mode on the graph, relative difference",
            Enclosure.at_least(float(gap[worst]), samples=gap.size),
            Enclosure.exact(1e-10),
            witness=found.witness(worst) if gap[worst] > NEAR else None,
        ),
        AtMost(
            "recursion and finite differences, relative difference",
            Enclosure.at_least(float(apart.max()), samples=len(chosen)),
            Enclosure.exact(NEAR),
            witness=found.witness(int(chosen[np.argmax(apart)])) if apart.max() > NEAR else None,
        ),
    )


# -- errata in the sources ---------------------------------------------------------------------------------


def misprints(found: Backprop) -> tuple[Identity, ...]:
    """The parameter gradient with the adjoint of the wrong end of the layer; an activation after the last layer."""
    return (*_misprint_wrong_end(found), *_misprint_activated_output(found))


def _misprint_wrong_end(found: Backprop) -> tuple[Identity, ...]:
    """Printed for a layer with as many outputs as inputs, else the shapes would not fit."""
    layers = found.description.layers
    square = [r for r, layer in enumerate(layers) if layer.weight.shape[0] == layer.weight.shape[1]]
    if not square:
        return ()
    r = square[-1]
    flow = found.flow
    printed = (flow.slopes[r] * flow.adjoints[r]).T @ flow.states[r]
    entry = _worst_entry(printed, flow.gradients[r][0])
    wrong = enclose_weight_gradient(found.description, found.x, found.y, r, entry, at_input=True)
    right = enclose_weight_gradient(found.description, found.x, found.y, r, entry)
    what = f"∇A of layer {r + 1} with the gradient at its input"
    return (_misprint(what, printed, flow.gradients[r][0], entry, wrong, right),)


def _misprint_activated_output(found: Backprop) -> tuple[Identity, ...]:
    layers = found.description.layers
    hidden = [layer.activation for layer in layers[:-1]]
    if not hidden or layers[-1].activation != "identity" or hidden[-1] == "identity":
        return ()
    bent = Description((*layers[:-1], replace(layers[-1], activation=hidden[-1])))
    printed = backpropagate(bent, found.x, found.y).gradients[-1][0]
    right = found.flow.gradients[-1][0]
    entry = _worst_entry(printed, right)
    last = len(layers) - 1
    return (
        _misprint(
            "∇A of the last layer with an activation after it",
            printed,
            right,
            entry,
            enclose_weight_gradient(bent, found.x, found.y, last, entry),
            enclose_weight_gradient(found.description, found.x, found.y, last, entry),
        ),
    )


def _worst_entry(printed: np.ndarray, right: np.ndarray) -> tuple[int, int]:
    """The entry in which two gradients differ most."""
    row, column = np.unravel_index(int(np.argmax(np.abs(printed - right))), right.shape)
    return int(row), int(column)


def _misprint(
    what: str,
    printed: np.ndarray,
    right: np.ndarray,
    entry: tuple[int, int],
    left: Enclosure,
    true: Enclosure,
) -> Identity:
    at = {"row": float(entry[0] + 1), "column": float(entry[1] + 1)}
    witness = Witness(at, left, true, "both recursions in intervals rounded outward")
    return Identity(
        what, Enclosure.equal(float(printed[entry])), Enclosure.equal(float(right[entry])), witness
    )


# -- charts and examples ------------------------------------------------------------------------------------


def _draw_flow(flow: Flow) -> Dag:
    """States to the right with their norms; below, the norm of the adjoint that flows back."""
    ids = [f"X{r}" for r in range(len(flow.states))]
    notes = [
        f"‖X‖ = {np.linalg.norm(x):.3g} →\n‖g‖ = {np.linalg.norm(g):.3g} ←"
        for x, g in zip(flow.states, flow.adjoints)
    ]
    return Dag(
        "forward and backward flow", tuple(map(Vertex, ids, ids, notes)), tuple(pairwise(ids))
    )


def _draw_norms(flow: Flow) -> Curves:
    r = list(range(len(flow.states)))
    size = lambda parts: [max(float(np.sqrt(np.mean(np.square(p)))), 1e-300) for p in parts]
    weights = [a for a, _ in flow.gradients]
    series = (
        Series("state X (forward)", r, size(flow.states)),
        Series("adjoint g (backward)", r, size(flow.adjoints), "other"),
        Series("∇A of the layer before", r[1:], size(weights), "reference", mark="points"),
    )
    return Curves("size layer by layer", Axis("layer"), Axis("root mean square", "log"), series)


def _examples() -> Examples:
    """One linear neuron by hand."""
    gradients = one_neuron()
    by_recursion, by_formula = gradients[2]
    exact = Identity(
        "one linear neuron: ∂w₃ = (ŷ − y)x₃",
        Enclosure.exact(by_recursion),
        Enclosure.exact(by_formula),
    )
    numbers = {
        f"neuron ∂w{k + 1}": Enclosure.exact(found) for k, (found, _) in enumerate(gradients)
    }
    return Examples((exact,), numbers=numbers)
