"""Networks of several inputs, as one vector, beside torch; data with one array per input."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import ftheta as ft  # noqa: E402
from ftheta.logic import SubjectError  # noqa: E402


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(6, 4)
        self.b = nn.Linear(2, 4)
        self.c = nn.Linear(4, 3)

    def forward(self, image, extra):
        return self.c(torch.relu(self.a(image.flatten(1)) * torch.sigmoid(self.b(extra))))


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, ids, mask):
        return self.out((self.words(ids) * mask[..., None]).sum(1))


@pytest.fixture(scope="module")
def two():
    torch.manual_seed(0)
    return Two().eval(), (torch.randn(5, 2, 3), torch.randn(5, 2))


def load_as(module, batch, kind, folder):
    first = tuple(part[:1] for part in batch)
    if kind == "module":
        return ft.load(module, first)
    path = str(folder / f"net.{kind}")
    if kind == "pt2":
        torch.export.save(torch.export.export(module, first), path)
    else:
        torch.onnx.export(module, first, path, dynamo=False, input_names=["image", "extra"])
    return ft.load(path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["module", "pt2", "onnx"])
def test_a_vector_of_all_entries_gives_what_torch_does(two, kind, tmp_path):
    module, batch = two
    net = load_as(module, batch, kind, tmp_path)
    assert net.input_shape == (8,) and net.parts == (("image", (2, 3)), ("extra", (2,)))
    assert net.parameters == sum(p.numel() for p in module.parameters())
    wanted = module(*batch).detach().numpy()
    for k in range(5):
        row = np.concatenate([part[k].ravel().numpy() for part in batch])
        assert np.allclose(net(row), wanted[k], atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_an_audit_reads_one_array_per_input(two, tmp_path):
    module, (image, extra) = two
    load_as(module, (image, extra), "pt2", tmp_path)
    right = module(image, extra).argmax(1).numpy()
    labels = np.where(np.arange(5) == 0, (right + 1) % 3, right)
    np.savez(tmp_path / "data.npz", extra=extra.numpy(), image=image.numpy(), y=labels)
    found = ft.audit(
        str(tmp_path / "net.pt2"), str(tmp_path / "data.npz"), only=["test-error"], workers=0
    )
    (section,) = found.sections
    (accuracy,) = [fact for fact in section.facts if fact.key == "accuracy"]
    assert accuracy.value.lo == pytest.approx(0.8)


def test_an_audit_of_a_module_takes_a_dictionary_of_rows(two):
    module, (image, extra) = two
    right = module(image, extra).argmax(1).numpy()
    rows = {"extra": extra.double().numpy(), "image": image.numpy(), "y": right}
    rows["y"] = np.where(np.arange(5) == 0, (right + 1) % 3, right)
    found = ft.audit(module, rows, only=["test-error"], workers=0)
    (accuracy,) = [fact for fact in found.sections[0].facts if fact.key == "accuracy"]
    assert accuracy.value.lo == pytest.approx(0.8)


def test_a_module_whose_first_layer_is_dense_needs_no_example():
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    for net in (ft.load(module), ft.Network.of(module)):
        assert net.input_shape == (4,) and net.parameters == 4 * 3 + 3 + 3 * 2 + 2
    with pytest.raises(SubjectError, match="needs an example"):
        ft.Network.of(nn.Conv2d(1, 2, 3))


def test_ids_and_a_mask_are_one_row_of_whole_numbers():
    torch.manual_seed(1)
    module = Tokens().eval()
    ids = torch.tensor([[1, 2, 3]])
    mask = torch.tensor([[1, 1, 0]])
    net = ft.load(module, (ids, mask))
    assert np.allclose(
        net(np.array([1, 2, 3, 1, 1, 0])), module(ids, mask).detach().numpy()[0], atol=1e-6
    )


def test_inputs_of_different_types_are_refused():
    module = Tokens().eval()
    with pytest.raises(SubjectError, match="different types"):
        ft.load(module, (torch.tensor([[1, 2, 3]]), torch.ones(1, 3)))


def test_arrays_of_different_lengths_are_refused(two, tmp_path):
    np.savez(tmp_path / "data.npz", image=np.zeros((4, 2, 3)), extra=np.zeros((5, 2)))
    with pytest.raises(SubjectError, match="same number of rows"):
        ft.load(str(tmp_path / "data.npz"), parts=("image", "extra"), takes=(ft.Dataset,))
