"""Networks that are linear in their last features: what theorems about a linear model ask of a network."""

import numpy as np

from ftheta.kernels.features import Features, features
from ftheta.logic.errors import SubjectError
from ftheta.logic.hypotheses import Finding, hypothesis
from ftheta.networks.description import Dense, Description, random_mlp

from .dataset import Dataset
from .network import Network
from .problems import rows_of


def readout_of(net: Network) -> Features | None:
    """What enters the last affine map of a network at its rows; None without such a map or rows, or if it is zero."""
    x = rows_of(net)[0]
    try:
        found = features(net.apply, net.params, x) if len(x) else None
    except SubjectError:
        return None
    return found if found is not None and found.phi.any() else None


def ends_in_tanh(rng: np.random.Generator) -> Network:
    """A network that is not linear in its last features, with data."""
    *hidden, last = random_mlp(rng, (2, 8, 1), "tanh", bias=0.5).layers
    net = Description((*hidden, Dense(last.weight, last.bias, "tanh")))
    x = rng.normal(size=(24, 2))
    return Network.described(net, "ends in tanh").with_data(Dataset("rows", x, np.sin(x[:, 0])))


@hypothesis(
    r"the model is linear: $f=W\varphi+b$",
    remedy="cut the network before its last activation",
    name="a linear model",
)
def linear_model(subject: Dataset | Network) -> Finding:
    """Data are fitted by a linear model; a network must end in an affine map."""
    if isinstance(subject, Dataset):
        return Finding.proved(
            "linear in the columns of the data", "⟨w, x⟩ is the model that is fitted here"
        )
    found = readout_of(subject)
    if found is None:
        return Finding.failed(
            "nothing but zeros enters a last dense layer, or there is none, or there are no rows"
        )
    note = f"|f − Wφ − b| up to {found.gap:.3g} on {len(found.phi)} rows"
    return Finding.sampled(note) if found.affine else Finding.failed(note)
