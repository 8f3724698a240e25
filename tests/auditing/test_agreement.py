"""Networks held against the framework they came from: faults of the import are found, sound imports are not accused."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from ftheta.auditing.origins import Origin, Packed
from ftheta.auditing.part import Part
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.auditing.subjects import Recipe
from ftheta.networks.onnx import rules

(TASK,) = plan_tasks(["agreement"])
ROWS = np.random.default_rng(0).normal(size=(20, 3))


def held_against(model, *, trusted: bool = False, rows=ROWS) -> Part:
    found = perform(TASK, [Recipe(model, rows, trusted=trusted).network], 0)
    assert isinstance(found, Part), found
    return found


def refusal(found: Part) -> str:
    (fact,) = found.facts
    assert not found.findings and isinstance(fact.value, str)
    return fact.value


def severity(found: Part) -> str:
    (finding,) = found.findings
    assert finding.rule == "agreement"
    return finding.severity.value


@pytest.fixture
def file(tmp_path):
    pytest.importorskip("onnxruntime")
    from tests.networks.onnx.graphs import model, node

    rng = np.random.default_rng(1)
    tensors = {"w": rng.normal(size=(3, 8)), "v": rng.normal(size=(8, 4))}
    nodes = (
        node("MatMul", "x", "w", out=("a",)),
        node("Relu", "a", out=("b",)),
        node("MatMul", "b", "v"),
    )
    path = tmp_path / "net.onnx"
    path.write_bytes(model(nodes, (None, 3), tensors).SerializeToString())
    return path


def test_an_operator_that_is_read_wrongly_is_found_and_a_sound_file_is_not_accused(
    file, monkeypatch
):
    sound = held_against(file, trusted=True)
    assert severity(sound) == "good" and 0 < sound.facts[0].value.middle < 1e-5
    assert [fact.value.middle for fact in sound.facts[1:]] == [0]
    monkeypatch.setitem(rules.RULES, "Relu", lambda call, x: -abs(x))
    wrong = held_against(file, trusted=True)
    assert severity(wrong) == "problem" and wrong.facts[0].value.middle > 0.1
    assert wrong.facts[1].key == "origin_flips" and wrong.facts[1].value.middle > 0


def test_a_file_that_is_not_trusted_is_not_run(file, monkeypatch):
    monkeypatch.setattr("ftheta.networks.onnx.runtime.run_rows", None)
    assert "trusted" in refusal(held_against(file))


def test_weights_in_other_files_are_not_given_to_onnxruntime(file):
    import onnx

    made = onnx.load(file)
    onnx.save(
        made,
        file,
        save_as_external_data=True,
        location="w.bin",
        size_threshold=0,
        convert_attribute=False,
    )
    assert "external data" in refusal(held_against(file, trusted=True))


def test_without_onnxruntime_the_fact_says_so(file, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    assert "not installed" in refusal(held_against(file, trusted=True))


def test_weights_with_a_spec_come_from_no_runtime(tmp_path):
    path = tmp_path / "net.npz"
    np.savez(path, W0=np.ones((2, 3)), b0=np.zeros(2))
    assert "spec" in refusal(held_against(path))
    net = replace(Recipe(path).network, origin=None)
    assert "not read from a framework" in refusal(held_against(net))


def test_modules_of_torch_are_held_against_themselves(monkeypatch):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 4)
    )
    sound = held_against(module)
    assert severity(sound) == "good" and sound.facts[0].value.middle < 1e-5
    assert module.training and module[1].num_batches_tracked == 0
    network = Recipe(module, ROWS).network
    with torch.no_grad():
        module[3].bias += 0.5 * torch.arange(4)
    wrong = perform(TASK, [network], 0)
    assert severity(wrong) == "problem"


def test_a_module_goes_to_another_process_as_bytes_and_is_opened_where_it_is_run():
    torch = pytest.importorskip("torch")
    network = Recipe(torch.nn.Linear(3, 2), ROWS).network
    there = pickle.loads(pickle.dumps(Origin(network.origin.model)))
    assert isinstance(there.model, Packed)
    object.__setattr__(network, "origin", there)
    assert severity(perform(TASK, [network], 0)) == "good"


def test_files_of_torch_are_not_unpickled(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    path = tmp_path / "net.pt2"
    program = torch.export.export(torch.nn.Linear(3, 2), (torch.zeros(1, 3),))
    torch.export.save(program, path)
    monkeypatch.setattr(torch.export, "load", None)
    assert "unpickles" in refusal(held_against(path, trusted=True))
    assert severity(held_against(program)) == "good"


@pytest.mark.parametrize("classes", [2, 3])
def test_perceptrons_of_scikit_learn_are_held_against_their_probabilities(classes):
    neural = pytest.importorskip("sklearn.neural_network")
    y = (np.arange(20) % classes).astype(int)
    model = neural.MLPClassifier((5,), max_iter=3, random_state=0).fit(ROWS, y)
    found = held_against(model)
    assert severity(found) == "good" and found.facts[0].value.middle < 1e-9
    network = Recipe(model, ROWS).network
    last = model.intercepts_[-1]
    model.intercepts_[-1] = last + np.arange(last.size) + 0.5
    assert severity(perform(TASK, [network], 0)) == "problem"
