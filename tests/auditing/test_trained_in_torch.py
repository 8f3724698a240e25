"""A network trained in PyTorch on real data: the audit of its file finds the numbers that PyTorch computes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from ftheta.cli import run

ROWS = 64  # as many as every fact looks at
ASKED = "counts,test-error,gradients-by-layer,active-units,steepness,curvature-of-the-loss,tangent-spectrum"


@pytest.fixture(scope="module")
def trained():
    """64-10-8-10 in float64, trained on the digits, and rows it has not seen."""
    digits: Any = load_digits()
    x = torch.tensor(digits.data / 16.0, dtype=torch.float64)
    y = torch.tensor(digits.target)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, 10), torch.nn.ReLU(), torch.nn.Linear(10, 8), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(8, 10)).double()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(150):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(x[ROWS:]), y[ROWS:]).backward()
        optimiser.step()
    return net.eval(), x[:ROWS], y[:ROWS]


@pytest.fixture(scope="module")
def sections(trained, tmp_path_factory):
    """What `ftheta audit` says of the exported file."""
    net, x, y = trained
    folder: Path = tmp_path_factory.mktemp("audit")
    torch.export.save(torch.export.export(net, (x[:1],)), folder / "net.pt2")
    np.savez(folder / "rows.npz", x=x.numpy(), y=y.numpy())
    report = folder / "report.json"
    words = ("audit", str(folder / "net.pt2"), "--data", str(folder / "rows.npz"), "--only", ASKED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ftheta.auditing.whole._cores", lambda: 0)  # a worker takes seconds to start
        assert run((*words, "--out", str(report), "--budget", "30m")) == 0
    return json.loads(report.read_text())["sections"]


@pytest.fixture(scope="module")
def facts(sections):
    """The facts by name."""
    return {fact["name"]: fact["value"] for section in sections for fact in section["facts"]}


@pytest.fixture(scope="module")
def loss(trained):
    """The cross-entropy on the rows as a function of all parameters in one vector."""
    net, x, y = trained
    names, sizes = zip(*((name, p.shape) for name, p in net.named_parameters()))

    def of(theta):
        parts = torch.split(theta, [size.numel() for size in sizes])
        params = {name: part.reshape(size) for name, part, size in zip(names, parts, sizes)}
        return torch.nn.functional.cross_entropy(torch.func.functional_call(net, params, (x,)), y)

    return of, torch.cat([p.detach().ravel() for p in net.parameters()])


def test_counts_and_errors(trained, facts):
    net, x, y = trained
    wrong = int((net(x).argmax(1) != y).sum())
    assert facts["parameters"]["lo"] == sum(p.numel() for p in net.parameters())
    assert facts["misclassified rows"]["lo"] == wrong and 0 < wrong < ROWS / 4
    assert facts["accuracy on the data"]["lo"] == pytest.approx(1 - wrong / ROWS)
    hidden = [net[:2](x), net[:4](x)]
    dead = sum(int((h == 0).all(0).sum()) for h in hidden)
    assert facts["dead ReLUs on this data"]["lo"] == dead


def test_gradients_and_curvature(facts, loss):
    of, theta = loss
    gradient = torch.func.grad(of)(theta)
    hessian = torch.func.hessian(of)(theta)
    eigenvalues = torch.linalg.eigvalsh(hessian)
    assert facts["loss"]["lo"] == pytest.approx(float(of(theta)), rel=1e-10)
    assert facts["norm of the gradient"]["lo"] == pytest.approx(float(gradient.norm()), rel=1e-8)
    ends = {"largest": float(eigenvalues[-1]), "smallest": float(eigenvalues[0])}
    for name, value in ends.items():
        met = facts[f"{name} Ritz value"]
        room = 1e-6 * ends["largest"]
        assert met["lo"] - room <= value <= met["hi"] + room
    assert facts["largest eigenvalue of the Hessian"]["lo"] <= ends["largest"] * (1 + 1e-9)
    assert ends["largest"] <= facts["largest eigenvalue of the Hessian"]["hi"]


def test_the_gradient_of_every_array(trained, sections, loss):
    net, of, theta = trained[0], *loss
    parts = torch.split(torch.func.grad(of)(theta), [p.numel() for p in net.parameters()])
    (table,) = [
        t
        for section in sections
        for t in section["tables"]
        if t["title"].startswith("gradients, cross-entropy")
    ]
    assert [row[0] for row in table["rows"]] == [
        f"layer {k}, {w}" for k in (1, 2, 3) for w in ("weights", "biases")
    ]
    sizes, norms = ([row[i] for row in table["rows"]] for i in (1, 2))
    assert sizes == pytest.approx([float(p.detach().norm()) for p in net.parameters()], rel=1e-12)
    assert norms == pytest.approx([float(part.norm()) for part in parts], rel=1e-8)


def test_steepness_and_tangent_kernel(trained, facts):
    net, x, _ = trained
    product = np.prod(
        [float(torch.linalg.matrix_norm(net[i].weight.detach(), 2)) for i in (0, 2, 4)]
    )
    assert facts["Lipschitz upper bound (product of spectral norms)"]["hi"] == pytest.approx(
        product, rel=1e-8
    )
    assert facts["Lipschitz upper bound (product of spectral norms)"]["hi"] >= product * (1 - 1e-15)
    top = net(x).detach().topk(2).values.numpy()
    gap = float(np.median(top[:, 0] - top[:, 1]))
    assert facts["median logit margin"]["lo"] == pytest.approx(gap, rel=1e-9)
    params = dict(net.named_parameters())
    rows = torch.func.jacrev(lambda p: torch.func.functional_call(net, p, (x,)))(params)
    J = torch.cat([part.reshape(ROWS * 10, -1) for part in rows.values()], 1)
    kernel = torch.linalg.eigvalsh(J @ J.T)
    assert facts["largest eigenvalue"]["lo"] == pytest.approx(float(kernel[-1]), rel=1e-8)
    assert facts["trace"]["lo"] == pytest.approx(float(kernel.sum()), rel=1e-8)
