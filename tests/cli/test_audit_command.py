"""`ftheta audit` as a user and a build server meet it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import ftheta as ft
from ftheta.cli import run
from ftheta.logic import Audit
from ftheta.networks import Dense, Description, random_mlp
from ftheta.report.document import from_json, schema, to_json

ROOT = Path(__file__).parents[2]
PATIENT = ("--budget", "30m")  # a busy machine starts processes slowly
FEW = ("--only", "depth-conventions,counts,test-error,degenerate-activations", *PATIENT)


def words(capsys, *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A network, a copy that is the same function, another one, and data."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    one = random_mlp(rng, (2, 4, 2), bias=0.5)
    scale = np.array([2.0, 0.5, 4.0, 1.0])
    first, last = one.layers
    copy = Description(
        (
            Dense(first.weight * scale[:, None], first.bias * scale, "relu"),
            Dense(last.weight / scale, last.bias),
        )
    )
    other = Description((first, Dense(last.weight + 0.25, last.bias)))
    for name, net in (("one", one), ("copy", copy), ("other", other)):
        ft.save(net, f"{name}.npz")
    ft.save(one, "one.onnx")
    np.savez("data.npz", x=rng.normal(size=(50, 2)), y=rng.integers(0, 2, 50))
    return tmp_path


def test_the_page_and_the_document_beside_it_say_the_same(capsys, folder):
    code, out, err = words(
        capsys, "audit", "one.npz", "--data", "data.npz", "--out", "report.html", *FEW
    )
    assert code == 0 and "Accuracy" in out and "report: report.html" in out and err == ""
    text = Path("report.json").read_text()
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text))
    assert isinstance(from_json(text), Audit)
    page = Path("report.html").read_text()
    for part in (
        "What is it?",
        "How good is it, and how sure?",
        "1 theorem is about networks of another kind",
        "95 % interval",
        "--only",
        "polynomial activations",
    ):
        assert part in page, part
    facts = {f["name"]: f["value"] for s in json.loads(text)["sections"] for f in s["facts"]}
    assert facts["parameters"]["lo"] == 22 and "<script" not in page
    assert (
        json.loads(text)["asked"]["only"] == [FEW[1]]
        and json.loads(text)["asked"]["budget"] == 1800.0
    )


def test_thresholds_forms_and_exit_codes(capsys, folder, without_workers, monkeypatch):
    few = ("audit", "one.npz", "--data", "data.npz", "--only", "test-error", *PATIENT)
    assert words(capsys, *few, "--require", "accuracy >= 0")[0] == 0
    code, out, _ = words(
        capsys, *few, "--require", "accuracy > 1", "--format", "markdown,junit,sarif"
    )
    assert code == 1 and "missed" in out
    assert all(Path(f"report.{suffix}").exists() for suffix in ("md", "xml", "sarif"))
    Path("pyproject.toml").write_text('[tool.ftheta.audit]\nrequire = ["dead_neurons == 0"]\n')
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, out, _ = words(capsys, *few)
    assert code == 3 and "::warning title=ftheta: threshold::dead_neurons == 0: unknown" in out
    assert json.loads(words(capsys, *few, "--json")[1])["requirements"][0]["met"] == "unknown"
    code, _, err = words(capsys, *few, "--format", "htm")
    assert code == 2 and "did you mean html" in err


def test_json_is_the_document(capsys, folder, without_workers):
    code, out, _ = words(capsys, "audit", "one.npz", "--json", *FEW)
    document = json.loads(out)
    assert code == 0 and document["document"] == "audit" and [r["id"] for r in document["results"]]
    assert {s["id"]: s["remedy"] for s in document["skipped"]} == {
        "test-error": "add --data with x and y"
    }
    assert to_json(from_json(out)) == out.strip()


def test_exit_codes_are_for_build_servers(capsys, folder, without_workers):
    assert (
        words(capsys, "audit", "one.npz", "--only", "depth-conventions", "--strict", *PATIENT)[0]
        == 0
    )
    assert (
        words(capsys, "audit", "one.npz", "--only", "degenerate-activations", "--strict", *PATIENT)[
            0
        ]
        == 3
    )
    assert words(capsys, "audit", "one.npz", "--only", "test-error", "--strict")[0] == 3
    assert words(capsys, "audit", "one.npz", "--only", "test-error")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("--only", "lipschitz-bound"), 2, "lipschitz-bounds"),
        (("--skip", "robustnes"), 2, "robustness"),
        (("--budget", "soon"), 2, "60s, 2m"),
        (("--against", "missing.npz"), 4, "no such file"),
        (("--until", "nowhere"), 4, ""),
        (("--only", "rays", "--skip", "rays"), 2, "Nothing is left"),
        (("--seed", "-1"), 2, "0 or above"),
        (("--out", "nowhere/report.html"), 2, "make nowhere first"),
        (("--out", "report.txt"), 2, ".html, .json"),
        (("--require", "acuracy > 0.5"), 2, "did you mean accuracy"),
    ],
)
def test_wrong_words_are_explained_before_any_work(
    capsys, folder, without_workers, arguments, code, part
):
    got, out, err = words(capsys, "audit", "one.onnx", *arguments)
    assert got == code and part.lower() in err.lower() and out == "" and "Traceback" not in err


DATA = {
    "wide.npz": ({"x": np.zeros((3, 5))}, "rows of shape (5,), the network takes (2,)"),
    "nan.npz": ({"x": np.array([[1.0, np.nan]])}, "x[0, 1]"),
    "words.npz": ({"x": np.array([["a", "b"]])}, "real numbers"),
    "none.npz": ({"x": np.zeros((0, 2))}, "non-empty"),
    "labels.npz": (
        {"x": np.zeros((3, 2)), "y": np.array([0, 1, 7])},
        "labels from 0 to 7, 2 outputs",
    ),
    "short.npz": ({"x": np.zeros((3, 2)), "y": np.array([0, 1])}, "3 rows, 2 labels"),
}


@pytest.mark.parametrize("name", DATA)
def test_data_that_cannot_be_used_are_named_and_the_rest_is_found(
    capsys, folder, without_workers, name
):
    np.savez(name, **DATA[name][0])
    code, out, err = words(
        capsys, "audit", "one.npz", "--data", name, "--only", "counts,test-error", *PATIENT
    )
    assert code == 4 and DATA[name][1] in err and "Traceback" not in err
    unusable = "labels of the data" if "y" in DATA[name][0] else "data"  # else the rows are used
    assert f"PROBLEM  The {unusable} cannot be used" in out
    assert "parameters 22" in " ".join(out.split())


def test_data_that_cannot_be_used_are_a_finding_of_every_form(capsys, folder):
    """With workers; and without its data the network is what it is without them."""
    np.savez("wide.npz", **DATA["wide.npz"][0])
    few = ("--only", "counts,test-error", *PATIENT)
    code, out, err = words(
        capsys, "audit", "one.npz", "--data", "wide.npz", "--json", "--out", "r.html", *few
    )
    audit = from_json(out)
    assert isinstance(audit, Audit) and code == 4 and DATA["wide.npz"][1] in err
    assert [(f.severity.value, f.rule) for f in audit.findings] == [("problem", "unusable-data")]
    assert (
        DATA["wide.npz"][1] in audit.findings[0].says
        and DATA["wide.npz"][1] in Path("r.html").read_text()
    )
    _, alone, _ = words(capsys, "audit", "one.npz", "--json", *few)
    assert audit.sections == from_json(alone).sections and audit.sections[0].facts  # type: ignore[union-attr]


def test_training_data_that_cannot_be_used_cost_the_others_nothing(capsys, folder, without_workers):
    np.savez("short.npz", **DATA["short.npz"][0])
    arguments = (
        "--data",
        "data.npz",
        "--train",
        "short.npz",
        "--against",
        "other.npz",
        "--only",
        "test-error",
    )
    code, out, err = words(capsys, "audit", "one.npz", *arguments, *PATIENT)
    assert code == 4 and "The labels of the training data cannot be used" in err
    assert "3 rows, 2 labels" in err
    assert "The labels of the training data cannot be used" in out and "accuracy on the data" in out


def test_a_network_that_raises_on_its_data_is_a_finding(
    capsys, folder, without_workers, monkeypatch
):
    Path("strict_nets.py").write_text("""
import jax, numpy as np, ftheta as ft
def ensure(x):
    if (np.asarray(x) > 0).any(): raise ValueError("a positive entry")
    return np.asarray(x)
def call(x):
    return jax.pure_callback(ensure, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")
strict = ft.Network.of(call, (2,))
""")
    code, out, err = words(
        capsys,
        "audit",
        "strict_nets:strict",
        "--data",
        "data.npz",
        "--only",
        "test-error,calibration,columns",
        *PATIENT,
    )
    assert code == 4 and "ValueError: a positive entry" in err and "Traceback" not in err
    assert "PROBLEM  The network raises an error on these data" in out and "constant columns" in out
    assert "internal error" not in out


def test_a_name_of_data_that_names_nothing_is_explained_before_any_work(
    capsys, folder, without_workers
):
    code, out, err = words(capsys, "audit", "one.npz", "--data", "dat.npz")
    assert (
        code == 4
        and out == ""
        and "no such file" in err
        and "did you mean" in err
        and "data.npz" in err
    )


def test_files_that_are_no_networks_are_refused_with_a_remedy(capsys, folder, without_workers):
    whole = Path("one.onnx").read_bytes()
    files = {
        "cut.onnx": (whole[: len(whole) // 2], ""),
        "noise.onnx": (bytes(range(256)) * 4, ""),
        "noise.pt2": (bytes(range(256)) * 4, "torch.export.save"),
        "pickle.pt": (b"\x80\x02cposix\nsystem\nX\x05\x00\x00\x00touch\x85R.", "torch.export.save"),
        "model.pkl": (b"\x80\x02cposix\nsystem\n", "hand it to ftheta.load"),
        "noise.npz": (b"PK\x03\x04 and so on", ""),
    }
    for name, (data, remedy) in files.items():
        Path(name).write_bytes(data)
        code, out, err = words(capsys, "audit", name)
        assert (
            code == 4 and name in err and remedy in err and out == "" and "Traceback" not in err
        ), (name, err)


def test_what_was_found_is_shown_where_the_report_cannot_be_written(
    capsys, folder, without_workers, monkeypatch
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    code, out, err = words(
        capsys, "audit", "one.npz", "--only", "counts", "--json", "--out", "r.html", *PATIENT
    )
    assert code == 2 and json.loads(out)["document"] == "audit" and "No space left" in err


def test_until_ends_the_network_earlier(capsys, folder, without_workers):
    code, out, _ = words(
        capsys, "audit", "one.onnx", "--until", "relu0", "--only", "counts", "--json", *PATIENT
    )
    document = json.loads(out)
    assert (
        code == 0
        and dict(map(tuple, document["facts"]))["output"] == "4"
        and document["asked"]["until"] == "relu0"
    )


def test_labels_may_have_another_name(capsys, folder, without_workers):
    data = np.load("data.npz")
    np.savez("named.npz", x=data["x"], target=data["y"])
    few = ("--only", "test-error", "--json", *PATIENT)
    documents = []
    for words_ in (("--data", "data.npz"), ("--data", "named.npz", "--labels", "target")):
        code, out, _ = words(capsys, "audit", "one.npz", *words_, *few)
        assert code == 0
        documents.append(
            {f["name"]: f["value"]["lo"] for f in json.loads(out)["sections"][0]["facts"]}
        )
    assert documents[0] == documents[1] and "accuracy on the data" in documents[0]


def facts_of(document: dict) -> dict:
    return {f["name"]: f["value"] for f in document["difference"]["facts"]}


def test_a_rescaled_copy_is_proved_to_be_the_same_function(capsys, folder, without_workers):
    few = ("--only", "canonical-form,depth-conventions", "--data", "data.npz", *PATIENT)
    code, out, _ = words(capsys, "audit", "copy.npz", "--against", "one.npz", "--json", *few)
    document = json.loads(out)
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert code == 0 and facts_of(document)["equality"] == "proved: equal normal forms"
    changes = {c["name"]: c for c in document["changes"]}
    assert (
        changes["path norm, the same for all copies"]["same"]
        and not changes["squared norm of the parameters"]["same"]
    )
    verdict = {
        "section": "Verdicts",
        "name": "depth-conventions",
        "before": "proved",
        "after": "proved",
    }
    assert changes["depth-conventions"] == verdict | {"same": True, "note": ""}


def test_another_network_is_told_apart_by_a_witness(capsys, folder, without_workers):
    few = ("--only", "test-error", "--data", "data.npz", "--out", "both.html", *PATIENT)
    code, out, _ = words(capsys, "audit", "other.npz", "--against", "one.npz", *few)
    document = json.loads(Path("both.json").read_text())
    assert code == 0 and facts_of(document)["equality"].startswith("refuted")
    x = np.load("data.npz")["x"]
    nets: list[Any] = [ft.load(name).description for name in ("one.npz", "other.npz")]  # type: ignore[union-attr]
    gap = max(
        np.abs(np.subtract(*(np.asarray(net.apply(net.params, row)) for net in nets))).max()
        for row in x
    )
    assert facts_of(document)["largest difference of an output"]["lo"] == pytest.approx(gap)
    guesses = [
        np.argmax([np.asarray(net.apply(net.params, row)) for row in x], axis=1) for net in nets
    ]
    flips = int((guesses[0] != guesses[1]).sum())
    assert facts_of(document)["predictions that changed"]["lo"] == flips
    assert [f["rule"] for f in document["findings"]][-1] == "flips"
    page = Path("both.html").read_text()
    assert (
        "other.npz against one.npz" in page
        and "--against one.npz" in page
        and "accuracy on the data" in page
    )
    assert "other.npz against one.npz" in out


def test_networks_of_different_shape_are_not_compared(capsys, folder, without_workers):
    code, _, err = words(capsys, "audit", "one.npz", "--against", "digits-mlp")
    assert code == 2 and "same inputs and outputs" in err


CUT = """
import os, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
import ftheta.auditing.pool as pool
import ftheta.auditing.whole as whole
from tests.auditing.planted import task
hear = pool.Pool._on_message
def tell(self, worker, frame, done):
    hear(self, worker, frame, lambda task, outcome: (done(task, outcome), Path("done").touch()))
    if self.portraits:
        Path("described").touch()
pool.Pool._on_message = tell
whole.plan_tasks = lambda only, skip: [task(name) for name in ("quick", "waits", "slow", "busy")]
from ftheta.cli import run
sys.exit(run(["audit", "digits-mlp", "--out", "report.html", "--budget", "1h"]))
"""


@pytest.mark.parametrize("whole_group", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_ctrl_c_keeps_what_is_done_and_writes_the_report(folder, whole_group):
    flag = folder / "begun"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PLANTED_FLAG": str(flag)}
    started = [sys.executable, "-c", CUT]
    process = subprocess.Popen(
        started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, start_new_session=True
    )
    events = [flag, folder / "done", folder / "described"]
    while not all(event.exists() for event in events) and process.poll() is None:
        time.sleep(0.02)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and b"Traceback" not in err, err
    document = json.loads(Path("report.json").read_text())
    assert document["interrupted"] and [
        f["name"] for s in document["sections"] for f in s["facts"]
    ] == ["drawn"]
    assert {s["id"]: s["reason"] for s in document["skipped"]} == dict.fromkeys(
        ["waits", "slow", "busy"], "interrupted"
    )
    assert (
        "interrupted: this is what was done until then" in Path("report.html").read_text()
        and b"interrupted" in out
    )
