"""The command line as a user meets it: output, errors, exit codes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ftheta as ft
from ftheta.cli import run
from ftheta.logic import Result
from ftheta.networks import random_mlp
from ftheta.report.document import from_json
from ftheta.report.reproduce import command

FTHETA = [sys.executable, "-m", "ftheta"]


def words(capsys, *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list_names_every_chapter(capsys):
    code, out, _ = words(capsys, "list")
    assert code == 0 and "gd-strongly-convex" in out and "generative" in out


def test_list_of_a_chapter_names_only_that_chapter(capsys):
    code, out, _ = words(capsys, "list", "--chapter", "optimisation", "--json")
    assert code == 0 and {e["chapter"] for e in json.loads(out)} == {"optimisation"}


def test_show_prints_statement_hypotheses_knobs_and_errata(capsys):
    code, out, _ = words(capsys, "show", "gd_strongly_convex")
    for part in (
        "τ",
        "kappa",
        "condition number",
        "nesterov2018",
        "broken on purpose",
        "Murari's slides print",
    ):
        assert part in out, part
    assert code == 0


def test_check_prints_the_card_with_statement_bound_and_measurement(capsys):
    code, out, _ = words(capsys, "check", "gd-strongly-convex", "--kappa", "100")
    assert code == 0 and "certified" in out and "0.96078816" in out and "θ" in out


def test_check_prints_json_that_parses_strictly(capsys):
    def refuse(constant):
        raise AssertionError(constant)

    code, out, _ = words(capsys, "check", "gd-strongly-convex", "--json")
    document = json.loads(out, parse_constant=refuse)
    assert (
        code == 0
        and document["verdict"] == "certified"
        and document["provenance"]["knobs"]["kappa"] == 10
    )


def test_the_misprinted_hat_is_refuted_without_refuting_the_theorem(capsys):
    code, out, _ = words(capsys, "check", "hat-function", "--json")
    document = json.loads(out)
    assert code == 0 and document["verdict"] == "proved"
    refuted = [j for j in document["as_printed"] if j["judgement"]["verdict"] == "refuted"]
    assert refuted and refuted[0]["claim"]["witness"]["at"]


def test_the_worked_example_shows_values_adjoints_and_the_gradient(capsys):
    code, out, _ = words(capsys, "check", "worked-example-graph", "--json")
    numbers = json.loads(out)["numbers"]
    gradient = sorted(n["lo"] for name, n in numbers.items() if name.startswith("∂"))
    assert code == 0 and gradient == pytest.approx([1.5, 2.0])


@pytest.mark.parametrize(
    "arguments, code, part",
    [
        (("check", "zzzz"), 2, "ftheta list"),
        (("check", "hat-funktion"), 2, "hat-function"),
        (("check", "gd-strongly-convex", "--kappa", "abc"), 2, "finite number"),
        (("check", "gd-strongly-convex", "--kappa", "1e99"), 2, "between"),
        (("check", "gd-strongly-convex", "--kapa", "3"), 2, "--kappa"),
        (("check", "gd-strongly-convex", "--sede", "3"), 2, "--seed"),
        (("check", "gd-strongly-convex", "--preset", "nope"), 2, "textbook"),
        (("check", "gd-strongly-convex", "--save", "figure.bmp"), 2, ".svg"),
        (("check", "lipschitz-bounds", "--on", "missing.npz"), 4, "no such file"),
        (("check", "lipschitz-bounds", "--on", "digts-mlp"), 4, "digits-mlp"),
        (("check", "lipschitz-bounds", "--on", "no.such.module:net"), 4, "ModuleNotFoundError"),
        (("check", "gd-strongly-convex", "--on", "digits-mlp"), 2, "Training"),
        (("audit", "digits-mlp", "--data", "digits-mlp"), 4, "Dataset"),
        (("audit", "digits-mlp", "--out", "report.docx"), 2, ".html"),
        (("audit", "digits-mlp", "--out", "no/such/folder/report.html"), 2, "folder"),
        (("list", "--chapter", "alchemy"), 2, "optimisation"),
        (("frobnicate",), 2, "Available commands"),
    ],
)
def test_bad_words_give_a_clear_error_and_the_right_exit_code(
    capsys, without_workers, arguments, code, part
):
    got, out, err = words(capsys, *arguments)
    assert got == code and part.lower() in err.lower() and "Traceback" not in err and out == ""
    got, out, err = words(capsys, *arguments, "--json")
    if arguments[0] != "frobnicate":
        assert got == code and json.loads(out)["exit_code"] == code


def write(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return str(path)


def test_broken_subject_files_are_named_and_exit_with_4(capsys, tmp_path):
    eye = np.eye(2)
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "garbage.npz").write_bytes(b"PK\x03\x04 no")
    (tmp_path / "words.doc").write_text("hello")
    cases = {
        write(tmp_path / "nan.npz", W0=np.array([[1, np.nan]]), b0=np.zeros(1)): "not finite",
        write(
            tmp_path / "shapes.npz",
            W0=np.ones((3, 2)),
            b0=np.zeros(3),
            W1=np.ones((1, 4)),
            b1=np.zeros(1),
        ): "chain",
        write(tmp_path / "bias.npz", W0=eye, b0=np.zeros(3)): "bias",
        write(tmp_path / "gap.npz", W0=eye, W2=eye): "gap",
        write(tmp_path / "pickle.npz", W0=np.array([object()], dtype=object)): "cannot be read",
        write(tmp_path / "names.npz", weights=eye): "nothing says what is between",
        write(tmp_path / "word.npz", W0=eye, activations=np.array("wobble")): "Unknown activation",
        str(tmp_path / "empty.npz"): "empty",
        str(tmp_path / "garbage.npz"): "cannot be read",
        str(tmp_path / "words.doc"): "not read",
    }
    for path, part in cases.items():
        code, _, err = words(capsys, "check", "lipschitz-bounds", "--on", path)
        assert part in err and code == 4, (path, err)


def test_a_function_that_jax_cannot_trace_exits_with_4(capsys, tmp_path, monkeypatch):
    source = "import ftheta, math\nnet = lambda: ftheta.Network.of(lambda x: math.sin(x), (3,))\nbad = None\n"
    (tmp_path / "untraceable.py").write_text(source + "class N:\n    in_size = 3\n    def __call__(self, x):\n"
                                             "        return math.sin(x[0])\nnet = N()\n")  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    code, _, err = words(capsys, "check", "lipschitz-bounds", "--on", "untraceable:net")
    assert code == 4 and "cannot trace" in err and "jax.numpy" in err


def test_strict_turns_a_failed_hypothesis_into_3_and_force_measures_it(capsys):
    broken = ("check", "gd-strongly-convex", "--preset", "broken on purpose")
    assert words(capsys, *broken)[0] == 0
    assert words(capsys, *broken, "--strict")[0] == 3
    assert words(capsys, *broken, "--force")[0] == 1


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "csv", "html", "json"])
def test_save_writes_every_format(capsys, tmp_path, suffix):
    path = tmp_path / f"figure.{suffix}"
    code, _, err = words(capsys, "check", "gd-strongly-convex", "--save", str(path))
    assert code == 0 and path.stat().st_size > 100, err


def test_an_audit_writes_a_report_and_json(capsys, without_workers, tmp_path):
    page = tmp_path / "report.html"
    few = ("--only", "depth-conventions,activation-zoo", "--budget", "30m")
    code, out, err = words(
        capsys, "audit", "digits-mlp", "--data", "digits-test", "--out", str(page), *few
    )
    assert code == 0 and page.is_file() and "depth-conventions" in out, err
    code, out, _ = words(capsys, "audit", "digits-mlp", "--json", *few)
    assert code == 0 and {"depth-conventions", "activation-zoo"} <= {
        r["id"] for r in json.loads(out)["results"]
    }


def test_data_of_the_wrong_shape_are_refused(capsys, without_workers, tmp_path):
    path = write(tmp_path / "rows.npz", x=np.ones((5, 3)))
    code, _, err = words(
        capsys, "audit", "digits-mlp", "--data", path, "--only", "counts", "--budget", "30m"
    )
    assert code == 4 and "do not fit" in err and "(64,)" in err


# A test run in the background would pass on "ignore": the child first heeds interrupts again. It says when it computes.
COMPUTING = """
import runpy, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
flag = Path(sys.argv.pop(1))
import ftheta.running as running
run = running.run
def tell(*arguments, **options):
    flag.touch()
    return run(*arguments, **options)
running.run = tell
runpy.run_module("ftheta", run_name="__main__")
"""


def test_interrupting_a_run_says_so_and_leaves_no_traceback(tmp_path):
    flag = tmp_path / "computing"
    start = [sys.executable, "-c", COMPUTING, str(flag)]
    slow = [*start, "check", "double-descent-networks", "--preset", "thirty widths, five seeds"]
    process = subprocess.Popen(slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not flag.exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (
        process.returncode == 130 and "interrupted" in err and "Traceback" not in err and out == ""
    )


def test_a_closed_pipe_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m ftheta list --json | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert (
        done.stdout.startswith("[")
        and "Traceback" not in done.stderr
        and "BrokenPipe" not in done.stderr
    )


def test_no_color_is_obeyed():
    done = subprocess.run(
        [*FTHETA, "list"], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert "\x1b[" not in done.stdout


def test_doctor_lists_packages_and_how_to_add_the_missing(capsys):
    code, out, _ = words(capsys, "doctor", "--json")
    report = json.loads(out)
    assert code == 0 and {"jax", "numpy", "torch"} <= {p["name"] for p in report["packages"]}


def test_the_line_that_repeats_a_check_names_the_files_it_was_given(capsys, tmp_path):
    net = tmp_path / "my net.npz"
    rows = tmp_path / "rows.npz"
    rng = np.random.default_rng(0)
    ft.save(random_mlp(rng, (2, 4, 2), bias=0.5), net)
    np.savez(rows, x=rng.normal(size=(20, 2)), y=rng.integers(0, 2, 20))
    line = ("check", "gradient-product-bound", "--on", str(net), "--with-data", str(rows))
    code, out, _ = words(capsys, *line, "--json")
    assert code == 0
    result = from_json(out)
    assert isinstance(result, Result)
    again = shlex.split(command(result))[1:]
    assert again[again.index("--on") + 1] == str(net) and again[again.index("--data") + 1] == str(
        rows
    )
    _, repeated, _ = words(capsys, *again, "--json")
    assert json.loads(repeated)["numbers"] == json.loads(out)["numbers"]


def test_data_without_a_network_are_refused(capsys):
    code, _, err = words(capsys, "check", "gradient-product-bound", "--with-data", "digits-test")
    assert code == 2 and "Data are given to a network." in err and "--on" in err
