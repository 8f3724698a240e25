"""The comparison with peers: its protocol, what counts as first, and what is said of those that are missing."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.comparison import environments, racing
from benchmarks.comparison.cores import CORES, Core, make_layers
from benchmarks.comparison.environments import REQUIREMENTS, _first_error, name_missing_folders
from benchmarks.comparison.programs.by_numpy import sklearn_training
from benchmarks.comparison.protocol import _time_once
from benchmarks.comparison.racing import PROGRAMS, Contestant, Course, race
from benchmarks.comparison.results import Row, describe, fit_exponent

PROGRAM = """
import time
import numpy as np
from protocol import serve

def total(work):
    return lambda: [work["x"].sum(), len(work["x"])]

def slow(work):
    return lambda: time.sleep(60)

def broken(work):
    raise ValueError("no such thing")

serve({"total": total, "slow": slow, "broken": broken})
"""


def enter(tmp_path, *methods: str) -> list[Contestant]:
    (tmp_path / "program.py").write_text(PROGRAM)
    return [Contestant(method, str(tmp_path / "program"), method) for method in methods]


def test_contestants_answer_on_every_work_and_those_that_fail_say_why(tmp_path):
    works = [{"x": np.arange(3.0)}, {"x": np.arange(5.0)}]
    contestants = enter(tmp_path, "total", "broken")
    small, large = race(contestants, {"": sys.executable}, works, rounds=2, patience=60.0)
    assert small[0].finished and small[0].rounds == 2 and small[0].value == [3.0, 3.0]
    assert large[0].value == [10.0, 5.0] and 0 <= large[0].cpu < 1
    for courses in (small, large):
        assert courses[1].reason == "ValueError: no such thing" and not courses[1].finished


def test_a_contestant_that_does_not_answer_in_time_is_left_out(tmp_path):
    (only,) = race(
        enter(tmp_path, "slow"), {"": sys.executable}, [{"x": np.zeros(1)}], rounds=1, patience=0.2
    )
    assert only[0].reason == "stopped after 0.2 s" and not only[0].finished


def make_row(peer_value: float, peer_cpu: float) -> Row:
    core = Core(
        "sum",
        "rows",
        (1, 2),
        (1, 2),
        lambda n: {},
        Contestant("ftheta", "", ""),
        (Contestant("peer", "", ""),),
    )
    courses = [
        [
            Course("ftheta", 1.0 * n, 1.0, 1.0, [5.0], 1),
            Course("peer", peer_cpu * n**2, 1.0, 1.0, [peer_value], 1),
        ]
        for n in (1, 2)
    ]
    return Row(core, (1, 2), courses)


def test_a_row_where_a_peer_is_first_is_said_plainly():
    page = describe([make_row(5.0, 0.25)], {"other": "needs a GPU"}, quick=True)
    assert "- sum: peer takes 0.50× our CPU time" in page
    assert "- other: needs a GPU" in page
    assert "| **0.50×** |" in page and "1.00, peer 2.00" in page


def test_every_limit_stands_beside_our_time_and_no_limit_is_a_peer():
    row = make_row(5.0, 2.0)
    limits = tuple(Contestant(name, "", "") for name in ("half", "all"))
    courses = [
        [*group, *(Course(one.label, cpu, 1.0, 1.0, [0.0], 1) for one, cpu in zip(limits, (1, 4)))]
        for group in row.courses
    ]
    limited = Row(replace(row.core, limits=limits), row.sizes, courses)
    assert limited.best is limited.peers[0] and len(limited.peers) == 1
    page = describe([limited], {}, quick=False)
    assert "| half, 2.00×; all, 0.50× |" in page and "does not agree" not in page


def test_a_peer_with_another_result_is_not_counted():
    row = make_row(6.0, 0.25)
    assert row.best is None
    assert "does not agree: not counted" in describe([row], {}, quick=False)


def test_the_exponent_of_a_power_law_is_found():
    sizes = np.array([3.0, 10.0, 70.0])
    assert fit_exponent(sizes, 0.2 * sizes**1.75) == pytest.approx(1.75)


def test_every_contestant_has_a_program_with_its_method_and_requirements():
    for core in CORES:
        for one in (core.ours, *core.peers, *core.limits):
            assert f"def {one.method}(" in (PROGRAMS / f"{one.program}.py").read_text(), one
            assert not one.environment or (REQUIREMENTS / f"{one.environment}.txt").exists(), one


def test_scikit_learn_trains_a_network_of_the_sizes_of_ours():
    work = make_layers(np.random.default_rng(0), (3, 6, 5, 1), 2.0)
    x = np.random.default_rng(1).normal(size=(64, 3))
    run = sklearn_training(work | {"x": x, "y": x[:, :1], "steps": np.array(2)})
    assert 0 < float(run()) < 100


def test_the_reason_of_a_failed_installation_is_the_first_error_of_pip():
    assert (
        _first_error("WARNING: slow\nERROR: Cannot install a and b\nERROR: see help")
        == "Cannot install a and b"
    )


def test_peers_whose_folder_is_not_named_are_listed(monkeypatch, tmp_path):
    monkeypatch.setenv("FTHETA_NNENUM", str(tmp_path))
    monkeypatch.delenv("FTHETA_MARABOU", raising=False)
    missing = name_missing_folders()
    assert "nnenum" not in missing and missing["Marabou"] == "FTHETA_MARABOU names no folder"


def test_a_slow_contestant_takes_two_rounds_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(racing, "ENOUGH", 0.0)
    (only,) = race(
        enter(tmp_path, "total"), {"": sys.executable}, [{"x": np.ones(2)}], rounds=5, patience=60.0
    )
    assert only[0].rounds == 2


def test_what_a_started_process_takes_is_counted():
    run = lambda: subprocess.run(
        [sys.executable, "-c", "x = b'1' * 50_000_000; sum(x)"], check=True
    )
    answer = _time_once(lambda: run().returncode, before=1e6)
    assert answer["peak"] > 50 and answer["cpu"] > 0.05


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_the_work_of_every_core_can_be_handed_over(core, tmp_path):
    work = core.work(core.quick[0])
    np.savez(tmp_path / "work.npz", allow_pickle=False, **work)
    back = np.load(tmp_path / "work.npz")
    assert set(back.files) == set(work)


def test_packages_that_ask_for_other_versions_are_installed_after_the_rest_and_alone(monkeypatch):
    asked = []
    monkeypatch.setattr(
        environments.subprocess,
        "run",
        lambda command, **_: asked.append(command) or SimpleNamespace(returncode=0),
    )
    wanted = environments._find_requirements("auto-lirpa")
    assert environments._install("auto-lirpa", wanted, Path("f"), Path("python")) == ""
    (_, first, last) = asked
    assert "--no-deps" not in first and first[-1].endswith("auto-lirpa.txt")
    assert "--no-deps" in last and last[-1].endswith("auto-lirpa.alone.txt")


def test_an_environment_is_made_once_and_again_where_it_was_deleted(monkeypatch, tmp_path):
    made = []

    def install(name: str, wanted: list[Path], folder: Path, python: Path) -> str:
        made.append(name)
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()
        return ""

    monkeypatch.setattr(environments, "HOME", tmp_path)
    monkeypatch.setattr(environments, "_install", install)
    for _ in range(2):
        assert environments.set_up("scipy").python == tmp_path / "scipy" / "bin" / "python"
    assert made == ["scipy"]
    (tmp_path / "scipy" / "bin" / "python").unlink()
    environments.set_up("scipy")
    assert made == ["scipy", "scipy"]
