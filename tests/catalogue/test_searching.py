"""Search: what people type finds the theorems that they mean, in both spellings."""

import pytest

from ftheta.catalogue import index
from ftheta.catalogue.searching import find, matches, synonyms


def found(words: str) -> set[str]:
    return {id for id, entry in index().items() if matches(entry, words.split())}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("backpropagation", "backprop-mlp"),
        ("automatic differentiation", "reverse-mode"),
        ("overfitting", "double-descent"),
        ("bias-variance", "error-decomposition"),
        ("adversarial", "adversarial-and-certified-robustness"),
        ("dropout", "noise-dropout-augmentation"),
        ("GAN", "gan-and-transport"),
        ("VAE", "vae-elbo"),
        ("diffusion model", "diffusion-score"),
        ("transformer", "self-attention"),
        ("LLM", "transformer-block"),
        ("NTK", "ntk-kernel"),
        ("batchnorm", "normalisation-layers"),
        ("exploding gradients", "gradient-product-bound"),
        ("optimal transport", "kantorovich-duality"),
        ("gd-strongly-convex", "gd-strongly-convex"),
    ],
)
def test_what_people_type_finds_what_they_mean(typed, meant):
    assert meant in found(typed)
    assert len(found(typed)) < len(index()) / 4, "a search chooses"


@pytest.mark.parametrize(
    ("british", "american"),
    [
        ("generalisation", "generalization"),
        ("initialisation", "initialization"),
        ("normalising flow", "normalizing flow"),
        ("regularisation", "regularization"),
        ("optimiser", "optimizer"),
    ],
)
def test_both_spellings_find_the_same(british, american):
    assert found(british) == found(american) != set()


def test_whole_words_come_first_then_beginnings_then_what_is_inside_words():
    def entry(id: str) -> dict:
        rest = dict.fromkeys(("title", "chapter_title", "gist", "statement"), "")
        return {**rest, "id": id, "takes": []}

    inside, formula, beginning, whole = map(entry, ("what", "\\hat", "hats", "a-hat"))
    assert find([inside, formula, beginning, whole], ["Hat"]) == [whole, beginning, inside, formula]
    assert find([inside, whole], ["hat", "what"]) == [inside]


def test_the_hat_function_comes_before_all_that_says_what():
    listed = [entry["id"] for entry in find(index().values(), ["hat"])]
    assert listed[0] == "hat-function"
    assert set(listed) == found("hat"), "none is lost by the order"


def test_every_word_has_to_be_found():
    assert found("transformer optimisers") == found("transformer") & found("optimisers")
    assert found("xyzzy") == found("transformer xyzzy") == set()


def test_every_synonym_stands_for_a_theorem():
    texts = " ".join(
        f"{e['title']} {e['id']} {e['gist']} {e['statement']} {e['chapter_title']}"
        for e in index().values()
    )
    absent = [part for parts in synonyms().values() for part in parts if part not in texts.lower()]
    assert absent == []
