"""The lab speaks the language of the browser or of the address; what is not known is English."""

import json
from types import MappingProxyType

import pytest

from ftheta.catalogue import theorem
from ftheta.lab.answers import answer
from ftheta.lab.protocol import State, read_state
from ftheta.languages import speaking
from ftheta.logic import UsageError
from ftheta.running import run

from .clients import Site

FRENCH = MappingProxyType({"Accept-Language": "fr-CA,fr;q=0.9"})


@pytest.mark.parametrize(
    ("path", "headers", "said"),
    [
        ("/", FRENCH, '<html lang="fr">'),
        ("/", {"Accept-Language": "de"}, '<html lang="en">'),
        ("/api/words?lang=fr", {}, "Chercher un théorème"),
        ("/api/catalogue?lang=fr", {}, "Le phénomène de Runge"),
        ("/api/catalogue?lang=xx", {}, "Runge's phenomenon"),
        ("/api/courses?lang=fr", {}, "La fonction chapeau comme réseau ReLU"),
    ],
)
def test_what_is_served_is_in_the_language_asked_for(site: Site, path, headers, said):
    assert said in site.get(path, **headers).body.decode()


def test_english_needs_no_words(site: Site):
    found = site.get("/api/words?lang=en").json
    assert (found["language"], found["words"]) == ("en", {})
    assert found["languages"]["fr"] == "français"


def test_a_result_is_the_same_document_with_other_words_around_it():
    result = run(theorem("hat-function"))
    english = json.loads(answer(result, 1, 0.0))
    with speaking("fr"):
        french = json.loads(answer(result, 1, 0.0))
    assert english["document"] == french["document"]
    assert english["verdict"]["id"] == french["verdict"]["id"] == "proved"
    assert (english["verdict"]["word"], french["verdict"]["word"]) == ("proved", "prouvé")


def test_a_state_in_another_language_has_the_same_result():
    french = read_state('{"theorem": "hat-function", "lang": "fr"}')
    assert french.key == State(theorem="hat-function").key
    with pytest.raises(UsageError, match="lang"):
        read_state('{"theorem": "hat-function", "lang": "xx"}')
