"""A training that is watched: the numbers of the page beside torch's own, and a run that nothing disturbs."""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import ftheta as ft  # noqa: E402
from ftheta.logic import UsageError  # noqa: E402
from ftheta.watching import pace  # noqa: E402
from ftheta.watching.pace import Pace  # noqa: E402

X = torch.randn(24, 3, generator=torch.Generator().manual_seed(1))
Y = (X[:, 0] > 0).long()


class Small(nn.Module):
    """ReLU as a module and as a function, batch statistics and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 6)
        self.norm = nn.BatchNorm1d(6)
        self.second = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Dropout(0.2))
        self.last = nn.Linear(5, 2)

    def forward(self, x):
        return self.last(self.second(F.relu(self.norm(self.first(x)))))


def train(steps: int, tmp_path=None, model=None, **options):
    torch.manual_seed(0)
    model = model or Small()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = None
    if tmp_path is not None:
        loss = lambda: F.cross_entropy(model(X), Y)
        files = {"file": tmp_path / "run.jsonl", "page": tmp_path / "run.html"}
        watch = ft.watch(model, optimiser, loss=loss, **files, **options)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = F.cross_entropy(model(X), Y)
        loss.backward()
        optimiser.step()
        if watch is not None:
            watch.step(loss)
    if watch is not None:
        watch.close()
    return model, watch


def test_a_watched_run_ends_with_the_same_bits(tmp_path):
    plain, _ = train(5)
    watched, watch = train(5, tmp_path, every=1)
    assert len(watch.observations) == 5 and watched.training
    for mine, his in zip(watched.state_dict().values(), plain.state_dict().values()):
        assert torch.equal(mine, his)


def test_gradients_are_those_of_the_parameters_and_every_line_is_json(tmp_path):
    model, watch = train(3, tmp_path, every=3)
    (seen,) = watch.observations
    for name, parameter in model.named_parameters():
        assert seen.gradients[name] == pytest.approx(float(parameter.grad.norm()), rel=1e-5)
    ratio = model.first.weight.grad.norm() / model.last.weight.grad.norm()
    assert seen.gradient_ratio == pytest.approx(float(ratio), rel=1e-5)
    (line,) = (tmp_path / "run.jsonl").read_text().splitlines()
    assert (
        json.loads(line)["step"] == 3
        and json.loads(line)["gradients"].keys() == seen.gradients.keys()
    )
    assert list(seen.dead) == ["ReLU 1", "ReLU 2"]


def test_the_page_has_four_panels_and_needs_nothing_else(tmp_path):
    train(4, tmp_path, every=1)
    page = (tmp_path / "run.html").read_text()
    assert page.count("<svg") == 4 and "<script" not in page and "://" not in page


def test_a_dead_layer_is_said(tmp_path):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.no_grad():
        model[0].bias.fill_(-100.0)
    _, watch = train(1, tmp_path, model, every=1)
    assert watch.observations[0].dead == {"ReLU 1": 1.0}
    assert "every unit of ReLU 1 is dead on the batch" in watch.observations[0].notes


def test_a_channel_is_dead_where_no_pixel_of_it_is_positive(tmp_path):
    from ftheta.watching.torch_probe import _dead_share

    images = -torch.ones(2, 4, 3, 3)
    images[1, 2, 0, 1] = 0.5
    assert _dead_share(images) == 0.75
    assert _dead_share(-torch.ones(2, 5)) == 1.0


def test_the_sharpness_tends_to_the_largest_eigenvalue_and_is_never_beyond_it(tmp_path):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    x = X.double()
    named = dict(model.named_parameters())

    def loss_of(*values):
        return F.cross_entropy(torch.func.functional_call(model, dict(zip(named, values)), x), Y)

    blocks = torch.autograd.functional.hessian(loss_of, tuple(p.detach() for p in named.values()))
    sizes = [p.numel() for p in named.values()]
    rows = [torch.cat([b.reshape(n, -1) for b in row], 1) for row, n in zip(blocks, sizes)]
    top = float(torch.linalg.eigvalsh(torch.cat(rows))[-1])
    watch = ft.watch(
        model, loss=lambda: F.cross_entropy(model(x), Y), every=1, file=None, page=None
    )
    for _ in range(40):
        model(x)
        watch.step()
    found = [seen.sharpness for seen in watch.observations]
    assert all(value <= top * (1 + 1e-9) for value in found)
    assert found[-1] == pytest.approx(top, rel=1e-3)


def test_the_limit_is_that_of_gradient_descent_with_momentum_on_a_quadratic(tmp_path):
    from ftheta.watching.torch_probe import stability_limit

    weight = [nn.Parameter(torch.ones(1, dtype=torch.float64))]
    for momentum in (0.0, 0.5, 0.9):
        optimiser = torch.optim.SGD(weight, lr=0.1, momentum=momentum)
        step, limit = stability_limit(optimiser)
        assert step == 0.1 and limit is not None
        for factor, stays in ((0.99, True), (1.01, False)):
            a, b = 1.0, 1.0  # x_k and x_{k-1}: heavy ball on ½ λ x², λ = factor · limit
            for _ in range(20000):
                a, b = a - step * factor * limit * a + momentum * (a - b), a
            assert (abs(a) < 1e3) is stays
    assert stability_limit(torch.optim.Adam(weight, lr=0.1)) == (0.1, None)


def test_a_limit_is_only_said_of_steps_that_are_unstable_beyond_it():
    from ftheta.watching.torch_probe import stability_limit

    flat, steep = (nn.Parameter(torch.ones(1, dtype=torch.float64)) for _ in range(2))
    groups = [{"params": [flat], "lr": 1.0}, {"params": [steep], "lr": 0.1}]
    optimiser = torch.optim.SGD(groups, lr=0.1)
    _, limit = stability_limit(optimiser)
    assert limit is not None
    for _ in range(
        100
    ):  # the sharpness 15 is beyond 2/1, but the steep direction has the small step
        optimiser.zero_grad()
        (flat**2 / 2 + 15 * steep**2 / 2).sum().backward()
        optimiser.step()
    assert steep.abs().item() < 1e-9 and limit >= 15
    assert stability_limit(torch.optim.SGD([steep], lr=0.1, weight_decay=3.0))[1] == pytest.approx(
        17
    )
    for other in (
        {"momentum": 0.9, "dampening": 0.5},
        {"maximize": True},
        {"momentum": 0.9, "nesterov": True},
    ):
        assert stability_limit(torch.optim.SGD([steep], lr=0.1, **other))[1] is None


def test_looks_never_take_more_than_their_share_after_the_first(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(pace, "perf_counter", lambda: now[0])
    clock = Pace(0.03, begun=0.0)
    looks = 0
    for step in range(1, 10_000):
        now[0] += 0.01
        if clock.is_due(step):
            now[0] += 0.05
            clock.charge(0.05)
            looks += 1
            assert looks == 1 or clock.cost <= 0.03 + 1e-9
    assert looks == 59  # as many looks of 0.05 s as fit into 0.03 of 99.99 s


def test_fit_takes_the_same_steps_when_it_is_watched(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3))
    data = (x, x[:, :1] ** 2)
    from ftheta.networks import random_mlp

    net = ft.Network.described(random_mlp(rng, (3, 8, 1), bias=0.1), "net")
    watch = ft.watch(every=1, file=tmp_path / "fit.jsonl", page=tmp_path / "fit.html")
    plain = ft.fit(net, data, optimiser="gd", step=0.01, steps=20)
    watched = ft.fit(net, data, optimiser="gd", step=0.01, steps=20, watch=watch)
    for mine, his in zip(watched.network.description.layers, plain.network.description.layers):
        assert np.array_equal(mine.weight, his.weight)
    last = watch.observations[-1]
    hidden = np.maximum(
        x @ watched.network.description.layers[0].weight.T
        + watched.network.description.layers[0].bias,
        0,
    )
    assert (
        last.step == 20 and last.limit == 200 and last.dead["ReLU 1"] == np.mean(hidden.max(0) <= 0)
    )
    from ftheta.spectra.objective import Objective

    matrix = Objective.of(watched.network, data).hessian().dense()
    assert last.sharpness is not None and last.sharpness <= np.linalg.eigvalsh(matrix)[-1] * (
        1 + 1e-9
    )


def test_a_callback_of_lightning_watches_its_module(tmp_path, monkeypatch):
    home = ModuleType("lightning.pytorch")
    home.Callback = type("Callback", (), {"state_key": "key"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lightning.pytorch", home)
    callback = ft.lightning_callback(every=1, file=tmp_path / "run.jsonl", page=None)
    assert isinstance(callback, home.Callback)
    model = Small()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = SimpleNamespace(optimizers=[optimiser])
    callback.on_train_start(trainer, model)
    loss = F.cross_entropy(model(X), Y)
    loss.backward()
    optimiser.step()
    callback.on_train_batch_end(trainer, model, {"loss": loss}, None, 0)
    callback.on_train_end(trainer, model)
    (seen,) = callback.watch.observations
    assert seen.loss == pytest.approx(loss.item()) and seen.limit == pytest.approx(20)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ft.watch(object()), "not watched"),
        (lambda: ft.watch(every=0), "number of steps"),
        (lambda: ft.watch(share=0), "part of the time"),
        (lambda: ft.watch(file=None, page=None).step(), "no module"),
        (lambda: ft.lightning_callback(), "Lightning is not imported"),
    ],
)
def test_what_cannot_be_watched_is_said(call, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        call()
