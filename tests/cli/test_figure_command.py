"""`ftheta figure`: one chart of a theorem, or of a result that was saved."""

import pytest

from ftheta.cli import run
from ftheta.report.save import save
from tests.report import samples

FAST = "hat-function"


def test_a_theorem_becomes_figures_of_every_kind(tmp_path, capsys):
    suffixes = ("pdf", "svg", "png", "csv", "tex", "html")
    paths = [tmp_path / f"f.{suffix}" for suffix in suffixes]
    assert (
        run(["figure", FAST, "--width", "84mm", *(w for p in paths for w in ("--out", str(p)))])
        == 0
    )
    assert capsys.readouterr().out.split() == [str(p) for p in paths]
    assert 'width="3.3071in"' in (tmp_path / "f.svg").read_text()
    assert "width=3.30709in" in (tmp_path / "f.tex").read_text()


def test_a_chart_is_chosen_by_its_number_or_the_beginning_of_its_title(tmp_path):
    result = samples.rich_result()
    (saved,) = save(result, tmp_path / "result.json")
    by_number = tmp_path / "by_number.csv"
    by_title = tmp_path / "by_title.csv"
    assert run(["figure", str(saved), "--chart", "2", "--out", str(by_number)]) == 0
    assert (
        run(
            [
                "figure",
                str(saved),
                "--chart",
                result.charts[1].title[:12].upper(),
                "--out",
                str(by_title),
            ]
        )
        == 0
    )
    (expected,) = save(result.charts[1], tmp_path / "expected.csv")
    assert by_number.read_text() == by_title.read_text() == expected.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--chart", "99", "--out", "f.pdf"], "no chart of this number"),
        (["--chart", "no such title", "--out", "f.pdf"], "no chart of this title"),
        (["--chart", "3", "--out", "f.tex"], ".pdf, .svg or .png"),  # a heatmap
        (["--out", "f.gif"], "Unknown kind of file"),
        (["--width", "wide", "--out", "f.pdf"], "not a length"),
        (["--kappa", "3", "--out", "f.pdf"], "has its options already"),
        (["--style", "papier", "--out", "f.pdf"], "papier"),
        ([], "--out"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(words, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(samples.rich_result(), "result.json")
    assert run(["figure", "result.json", *words]) == 2
    assert says in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_a_file_that_is_not_there_or_no_result_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["figure", "none.json", "--out", "f.pdf"]) == 4
    (tmp_path / "broken.json").write_text("[1, 2")
    assert run(["figure", "broken.json", "--out", "f.pdf"]) == 4
    save(samples.audit(), "audit.json")
    assert run(["figure", "audit.json", "--out", "f.pdf"]) == 4
    assert "not the result of one theorem" in capsys.readouterr().err
