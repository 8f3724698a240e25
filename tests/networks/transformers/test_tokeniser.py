"""Byte-pair encoding: a known example, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError, UsageError
from ftheta.networks.transformers import TEXTS, Tokeniser, text

from ...thoroughness import max_examples


def test_the_textbook_example_of_byte_pair_encoding():
    found = Tokeniser.learn("aaabdaaabac", 10)
    assert found.split("aaabdaaabac") == ["aaab", "d", "aaab", "a", "c"]
    assert found.merges == (("a", "a"), ("a", "b"), ("aa", "ab"))  # nothing else occurs twice


@max_examples(60)
@given(st.text("ab c\né", min_size=1, max_size=60), st.integers(0, 20))
def test_every_text_comes_back(words, merges):
    tokeniser = Tokeniser.learn(words, merges)
    assert tokeniser.decode(tokeniser.encode(words)) == words
    assert len(tokeniser) <= len(set(words)) + merges
    assert sorted(tokeniser.numbers.values()) == list(range(len(tokeniser)))


@max_examples(8)
@given(st.integers(0, 80))
def test_more_merges_never_make_a_text_longer(merges):
    poem = text("hugo")
    assert len(Tokeniser.learn(poem, merges + 1).encode(poem)) <= len(
        Tokeniser.learn(poem, merges).encode(poem)
    )


def test_pieces_never_cross_the_end_of_a_word():
    tokeniser = Tokeniser.learn(text("all"), 300)
    assert all(not any(c.isspace() for c in piece[1:]) for piece in tokeniser.pieces)


def test_unknown_characters_are_named():
    with pytest.raises(SubjectError, match="'z'"):
        Tokeniser.learn("abc").encode("abz")
    with pytest.raises(SubjectError):
        Tokeniser.learn("")


def test_the_texts_that_ship_are_there():
    assert set(TEXTS) >= {"hugo", "shakespeare"}
    assert text("hugo").startswith("Demain, dès l'aube, à l'heure où blanchit la campagne,")
    assert len(text("hugo").splitlines()) == 14 and len(text("shakespeare").splitlines()) == 14
    assert all(text(name) in text("all") for name in TEXTS)
    with pytest.raises(UsageError, match="hugo"):
        text("homer")
