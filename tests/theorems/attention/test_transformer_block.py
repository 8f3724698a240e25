"""A transformer on a text: what is claimed of it is noticed where it is false, and any text will do."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Identity, SubjectError, UsageError, Verdict
from ftheta.networks.layers import tokens
from ftheta.networks.transformers import text
from ftheta.networks.transformers.text_model import TextModel
from ftheta.running import run
from ftheta.subjects import Dataset
from ftheta.subjects.texts import longer_than_the_context, read_text, text_data, text_of
from ftheta.theorems.attention.transformer_block import (
    causality_claim,
    count_claims,
    norm_claims,
    parameter_table,
    printed_norm_claim,
    training_claim,
)
from ftheta.theorems.attention.transformer_block import transformer_block as THEOREM
from ftheta.theorems.attention.transformer_block.training import TrainedModel

POEM = text("hugo")


def model(context: int = 6, **sizes) -> TextModel:
    return TextModel.build(
        POEM, 10, np.random.default_rng(0), context=context, width=8, heads=2, layers=1, **sizes
    )


def causality(found: TextModel) -> Verdict:
    with jax.enable_x64(True):
        return causality_claim(found).judge().verdict


def test_a_mask_hides_what_comes_and_without_it_a_witness_is_found():
    assert causality(model()) is Verdict.CONSISTENT
    assert causality(model(causal=False)) is Verdict.REFUTED


def test_a_mask_that_shows_one_token_too_many_is_noticed(monkeypatch):
    real = tokens.attention_weights
    shifted = lambda q, k, mask: real(q, k, np.tri(q.shape[-2], k=1, dtype=bool))
    monkeypatch.setattr(tokens, "attention_weights", shifted)
    # a size of its own: nothing is compiled for it yet
    assert causality(model(context=5)) is Verdict.REFUTED


def test_counts_are_those_of_the_arrays_and_of_two_tables_of_layers():
    found = model()
    assert all(claim.judge().verdict is Verdict.PROVED for claim in count_claims(found))
    part, here, large = zip(*parameter_table(found).rows)
    assert (
        part[-1] == "all"
        and sum(here[:-1]) == here[-1]
        and sum(large[:-1]) == large[-1] == 116_534_784
    )
    wrong = replace(found, params=found.params | {"positions": found.params["positions"][1:]})
    assert count_claims(found)[1].judge().verdict is not count_claims(wrong)[1].judge().verdict


def test_layer_norm_divides_by_the_deviation_and_not_by_the_norm():
    with jax.enable_x64(True):
        claims = norm_claims(2 + 3 * np.random.default_rng(1).normal(size=(64, 8)))
    printed = printed_norm_claim(8)
    assert all(claim.judge().verdict is Verdict.CONSISTENT for claim in claims)
    assert printed.judge().verdict is Verdict.REFUTED
    # the ratio is √d
    assert isinstance(printed, Identity) and printed.left.middle == pytest.approx(
        1 / np.sqrt(8), rel=1e-12
    )


def test_a_training_that_learns_nothing_is_no_evidence():
    found = model()
    judged = training_claim(
        TrainedModel(found, found.params, np.full(20, found.entropy + 0.1))
    ).judge()
    assert judged.verdict is Verdict.INCONCLUSIVE
    better = TrainedModel(found, found.params, np.full(20, found.entropy - 0.1))
    assert training_claim(better).judge().verdict is Verdict.CONSISTENT


def test_texts_are_data_and_come_back(tmp_path):
    words = "Où sont-ils ? 🙂\nLà."
    assert text_of(text_data("mine", words)) == words
    path = tmp_path / "mine.txt"
    path.write_text(words, encoding="utf-8")
    assert text_of(read_text(path, "mine.txt")) == words
    loaded = ft.load(path)
    assert isinstance(loaded, ft.Dataset) and text_of(loaded) == words
    with pytest.raises(SubjectError, match="no such file"):
        ft.load(tmp_path / "none.txt")
    path.write_bytes("où".encode("latin-1"))
    with pytest.raises(SubjectError, match="UTF-8"):
        read_text(path, "mine.txt")
    with pytest.raises(SubjectError, match="no text"):
        text_data("empty", " \n")


@pytest.mark.parametrize("x", [[[0.5]], [[65, 66]], [[0xD800]], [[-1]], [[0x110000]]])
def test_rows_that_are_no_characters_are_refused(x):
    with pytest.raises(SubjectError, match="no text"):
        text_of(Dataset("rows", np.array(x)))


def test_a_text_shorter_than_the_context_is_told_so():
    found = longer_than_the_context(
        text_data("short", "to be or not"), {"merges": 0, "context": 16}
    )
    assert found.status.value == "failed" and "12 tokens, a context of 16" in found.note
    assert run(THEOREM, text_data("short", "to be or not")).verdict is Verdict.INAPPLICABLE


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(UsageError, match="divide"):
        run(THEOREM, heads=3)


def test_without_the_mask_the_theorem_is_refuted_when_forced():
    result = run(
        THEOREM, preset="broken on purpose", force=True, width=8, heads=1, layers=1, steps=2
    )
    refuted = [j.claim.what for j in result.claims if j.judgement.verdict is Verdict.REFUTED]
    assert refuted == ["change of scores when later tokens change"]


@pytest.mark.nightly
def test_a_poem_is_memorised():
    result = run(THEOREM, preset="memorised")
    assert result.numbers["memorised characters"].lo > 60
