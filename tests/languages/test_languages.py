"""Words are looked up where they are written; everything else is the same in each language."""

import contextlib
import io
import re

import pytest

from ftheta.catalogue import index
from ftheta.cli import run
from ftheta.languages import from_environment, from_header, language, speaking, t, tn
from ftheta.languages.catalogues import FOLDER, read_catalogue, read_translations
from ftheta.logic import UsageError
from translations.__main__ import HEAD, list_problems
from translations.files import head_of, problems, written
from translations.messages import Message
from translations.sources import collect

COUNTED = Message("{n} page", "a.py", "{n} pages")
TITLED = Message('A "title" with $x_1$\\n', "b.py")
ALIKE = Message("proved", "c.py", "", "hypothesis")


@pytest.fixture(scope="module")
def sources():
    return collect()


def said(words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(words) == 0
    return out.getvalue()


def test_catalogues_are_complete_and_those_of_the_sources(sources):
    found = list_problems("fr", sources)
    assert not found, "\n".join([*found, "run `python -m translations`, and translate"])


def test_every_title_is_in_french():
    with speaking("fr"):
        french = [t(entry["title"]) for entry in index().values()]
    same = [a for a, e in zip(french, index().values()) if a == e["title"]]
    assert set(same) <= {"U-Net"}


def test_a_catalogue_that_is_written_is_read_again():
    words = {
        m.key: f"fr {m.one}\0fr {m.many}" if m.many else f"fr {m.one}"
        for m in (COUNTED, TITLED, ALIKE)
    }
    text = written(HEAD.format(language="fr"), [COUNTED, TITLED, ALIKE], words)
    again = read_catalogue(text)
    again.pop("")
    assert again == words
    assert problems(text, [COUNTED, TITLED, ALIKE]) == []


def test_what_is_wrong_with_a_catalogue_is_said():
    text = written(
        HEAD.format(language="fr"), [COUNTED, TITLED], {COUNTED.key: "une page\0{m} pages"}
    )
    found = problems(f'{text}\n#, fuzzy\n#: old\nmsgid "gone"\nmsgstr "parti"\n', [COUNTED, TITLED])
    told = "\n".join(found)
    assert 'not translated: \'A "title"' in told
    assert "no longer said: 'gone'" in told
    assert "fuzzy" in told
    assert told.count("places of values") == 2


def test_head_and_glossary_survive_an_update():
    text = f'# glossary\n{HEAD.format(language="fr")}\n\n#: x\nmsgid "a"\nmsgstr "b"\n'
    assert head_of(text).startswith("# glossary\nmsgid")


def test_counted_words_follow_the_rule_of_the_language():
    assert tn("{n} page", "{n} pages", 0) == "0 pages"
    assert (
        read_translations("fr").ngettext("{n} rule", "{n} rules", 0) == "{n} rules"
    )  # not in the catalogue: English
    assert read_translations("fr").gettext("").count("plural=(n > 1)") == 1


def test_a_language_is_spoken_inside_of_its_context_alone():
    with speaking("fr"):
        assert (language(), t("Hypotheses")) == ("fr", "Hypothèses")
        with speaking("en"):
            assert t("Hypotheses") == "Hypotheses"
    assert t("Hypotheses") == "Hypotheses"
    assert t("") == ""


def test_one_word_of_two_meanings_has_two_translations():
    with speaking("fr"):
        assert (t("proved"), t("proved", "hypothesis")) == ("prouvé", "prouvée")


def test_the_environment_chooses():
    assert from_environment({}) == "en"
    assert from_environment({"LANG": "fr_CA.UTF-8"}) == "fr"
    assert from_environment({"LC_ALL": "C", "LANG": "fr_FR"}) == "en"
    assert from_environment({"LANGUAGE": "de:fr:en"}) == "fr"
    assert from_environment({"FTHETA_LANG": "en", "LANG": "fr_FR"}) == "en"
    with pytest.raises(UsageError, match="en, fr"):
        from_environment({"FTHETA_LANG": "xx"})


def test_a_browser_chooses():
    assert from_header("fr-CH, fr;q=0.9, en;q=0.8") == "fr"
    assert from_header("en;q=0.5, fr") == "fr"
    assert from_header("de, ja;q=0.7") == "en"
    assert from_header("de", "fr") == "fr"
    assert from_header("fr;q=1.2.3, en;q=0.1") == "en"


@pytest.mark.parametrize(
    ("words", "french"),
    [
        (["list", "--chapter", "attention"], "Les tokens sont des particules qui"),
        (["show", "hat-function"], "Errata des sources"),
        (["lab", "--help"], "Ouvrir le labo dans le navigateur"),
    ],
)
def test_commands_speak_french(words, french):
    assert french in said(["--lang", "fr", *words])
    assert french not in said([*words, "--lang=en"])


def test_json_is_the_same_in_each_language():
    assert said(["show", "hat-function", "--json", "--lang", "fr"]) == said(
        ["show", "hat-function", "--json"]
    )


def test_an_unknown_language_names_the_known_ones(capsys):
    assert run(["list", "--lang", "xx"]) == 2
    assert "choose one of en, fr" in capsys.readouterr().err


def test_the_frame_of_errors_is_french(capsys):
    assert run(["show", "no-such", "--lang", "fr"]) == 2
    assert "reçu\N{NO-BREAK SPACE}: no-such" in capsys.readouterr().err


def test_after_two_hyphens_lang_is_a_word_of_the_command(capsys):
    assert run(["show", "--", "--lang"]) == 2
    assert "--lang" in capsys.readouterr().err


def test_french_has_its_spaces():
    """No-break spaces stand before : ; ? ! and inside of « »; the apostrophe is ’."""
    wrong = re.compile(r"(?<=[\w)\]$}…”’`]) (?=[:;?!»])|« |\w'\w|(?<=[a-zé)])[?!;](?=\s|$)")
    code = re.compile(r"`[^`]*`|\$[^$]*\$")
    for path in (FOLDER / "fr").glob("*.po"):
        for key, said in read_catalogue(path.read_text(encoding="utf-8")).items():
            assert not key or not wrong.search(code.sub("x", said)), said
