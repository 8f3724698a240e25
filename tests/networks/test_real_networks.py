"""Networks that nobody here wrote: those of the competition VNN-COMP, where FTHETA_VNNCOMP names a folder with them."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import ftheta as ft

FOLDER = Path(os.environ.get("FTHETA_VNNCOMP", "vnncomp"))
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="FTHETA_VNNCOMP names no folder with the networks"
)

NETWORKS = {
    "acasxu/ACASXU_run2a_1_1_batch_2000.onnx": (5, *[50] * 6, 5),
    "acasxu/ACASXU_run2a_5_9_batch_2000.onnx": (5, *[50] * 6, 5),
    "mnistfc/mnist-net_256x2.onnx": (784, 256, 256, 10),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_real_network_agrees_with_onnxruntime(name):
    path = FOLDER / name
    widths = NETWORKS[name]
    net = ft.load(path)
    assert (
        isinstance(net, ft.Network)
        and net.description is not None
        and net.description.widths == widths
    )
    session = onnxruntime.InferenceSession(path)
    (given,) = session.get_inputs()
    shape = [1 if isinstance(n, str) else n for n in given.shape]
    x = np.random.default_rng(0).normal(size=(20, *shape)).astype(np.float32)
    outputs: list[Any] = [session.run(None, {given.name: row})[0] for row in x]
    expected = np.stack([np.ravel(y) for y in outputs])
    found = np.stack([net(row.reshape(net.input_shape)) for row in x])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_a_real_network_is_audited():
    widths = NETWORKS[name := next(iter(NETWORKS))]
    found = ft.audit(FOLDER / name, only=["counts", "depth-conventions"], budget=None, workers=0)
    facts = {fact.name: fact.value for section in found.sections for fact in section.facts}
    assert facts["parameters"].lo == sum(n * (m + 1) for m, n in pairwise(widths))  # type: ignore[union-attr]
    assert [(result.id, str(result.verdict)) for result in found.results] == [
        ("depth-conventions", "proved")
    ]
    assert not found.skipped
