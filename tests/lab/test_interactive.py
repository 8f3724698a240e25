"""A theorem as one page without a server."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest

from ftheta.cli import run
from ftheta.lab import interactive
from ftheta.lab.interactive import Position, interactive_page
from ftheta.lab.positions import choose_knob, positions_of
from ftheta.logic import UsageError
from ftheta.logic.knob import Knob, Setting
from tests.report import samples

FAST = "hat-function"
KAPPA = Setting("kappa", "float", 10.0, Knob(1.0, 1000.0, "condition number", "κ", log=True))
WIDTH = Setting("width", "int", 3, Knob(1, 5, "width"))
SWITCH = Setting("twins", "bool", True, Knob(says="twins"))
KIND = Setting("kind", "str", "b", Knob(choices=("a", "b", "c")))


def content_of(page: str) -> dict:
    data = re.search(r'<script type="application/gzip" id="data">(.*?)</script>', page)
    assert data is not None
    return json.loads(gzip.decompress(b64decode(data[1])))


def test_positions_are_the_ends_the_current_value_and_equal_ratios_between():
    assert positions_of(KAPPA, 4, 10.0) == [1.0, 10.0, 100.0, 1000.0]
    assert positions_of(KAPPA, 4, 12.0) == [1.0, 12.0, 100.0, 1000.0]
    assert positions_of(KAPPA, 4, 5000.0) == [1.0, 10.0, 100.0, 1000.0, 5000.0]
    assert positions_of(WIDTH, 21, 3) == [1, 2, 3, 4, 5]
    assert positions_of(KIND, 21, "b") == ["a", "b", "c"]
    linear = Setting("step", "float", 0.3, Knob(0.0, 1.0))
    assert positions_of(linear, 11, 0.3) == pytest.approx([i / 10 for i in range(11)], abs=0)


def test_the_main_knob_is_the_first_with_a_range():
    assert choose_knob([SWITCH, KIND, KAPPA, WIDTH], None) is KAPPA
    assert choose_knob([SWITCH, KIND], None) is KIND
    assert choose_knob([KAPPA, WIDTH], "width") is WIDTH
    for settings, name, says in (
        ([SWITCH], None, "no knob with a range"),
        ([SWITCH, KAPPA], "twins", "no range"),
        ([KAPPA], "kapa", "no such knob"),
    ):
        with pytest.raises(UsageError, match=says):
            choose_knob(settings, name)


def test_every_position_is_in_the_page_and_nothing_is_outside_of_it():
    result = samples.rich_result()
    broken = UsageError("Too much.", got="1000")
    page = interactive_page(KAPPA, [Position(1.0, result), Position(1000.0, broken)], 0)
    content = content_of(page)
    assert [p["value"] for p in content["positions"]] == [1.0, 1000.0]
    assert [len(p["charts"]) for p in content["positions"]] == [len(result.charts), 0]
    assert "Too much." in content["positions"][1]["outcome"]
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!data:|#)', markup)
    assert "url(" not in re.sub(r"url\(data:", "", markup)


def test_the_policy_names_every_script_by_its_hash_and_vega_is_there_once():
    page = interactive_page(KAPPA, [Position(1.0, samples.rich_result())], 0)
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, flags=re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and len(scripts) == 2
    assert "unsafe-eval" not in policy[1]
    for script in scripts:
        assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy[1]
    assert page.count(interactive._read("vendor/vega.min.js")) == 1
    assert "\nimport " not in scripts[1] and "\nexport " not in scripts[1]


def test_a_page_that_is_too_large_or_shows_nothing_is_refused(monkeypatch):
    with pytest.raises(UsageError, match="Too much"):
        interactive_page(KAPPA, [Position(1.0, UsageError("Too much."))], 0)
    monkeypatch.setattr(interactive, "LARGEST", 1000)
    with pytest.raises(UsageError, match="too large"):
        interactive_page(KAPPA, [Position(1.0, samples.rich_result())], 0)


def test_the_command_writes_the_page_and_never_over_a_file(tmp_path, capsys):
    path = tmp_path / "page.html"
    words = ["export", FAST, "--interactive", str(path), "--positions", "2"]
    assert run(words) == 0
    assert str(path) in capsys.readouterr().out
    assert len(content_of(path.read_text(encoding="utf-8"))["positions"]) >= 2
    path.write_text("mine")
    assert run(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gd-strong-convex"], "no theorem of this id"),
        (["gd-strongly-convex", "--knob", "kapa"], "--kappa"),
        (["landscape-equivalent-minima", "--knob", "twins"], "no range"),
        (["gd-strongly-convex", "--kappa", "fast"], "cannot take this value"),
        (["gd-strongly-convex", "--preset", "textbok"], "textbook"),
        (["gd-strongly-convex", "--positions", "1"], "2 to 200"),
        (["gd-strongly-convex", "--interactive", "page.pdf"], "Unknown kind of file"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_words(words, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = words if "--interactive" in words else [*words, "--interactive", "page.html"]
    assert run(["export", *given]) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
