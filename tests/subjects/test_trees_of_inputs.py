"""Functions of dictionaries and tuples of arrays, of token ids, with several outputs: as networks of one array."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import SubjectError
from ftheta.subjects.inputs import takes_tokens


def of_a_dictionary(batch):
    return jnp.tanh(batch["image"]).sum(0) * batch["more"]["scale"]


IMAGE = np.arange(6.0).reshape(2, 3)
SCALE = np.array([1.0, -2.0, 0.5])


def test_a_dictionary_is_one_vector_with_named_parts():
    net = ft.Network.of(of_a_dictionary, {"image": IMAGE, "more": {"scale": SCALE}})
    assert net.parts == (("image", (2, 3)), ("more.scale", (3,)))
    assert net.input_shape == (9,) and net.output_shape == (3,)
    given = np.concatenate([IMAGE.ravel(), SCALE])
    assert np.allclose(net(given), np.tanh(IMAGE).sum(0) * SCALE)


def test_shapes_stand_for_arrays_in_a_dictionary_and_in_a_tuple():
    net = ft.Network.of(lambda pair: pair[0].sum() + 2 * pair[1], ((2, 3), ()))
    assert net.parts == (("0", (2, 3)), ("1", ()))
    assert float(net(np.array([1.0, 2, 3, 4, 5, 6, 10]))) == 41
    named = ft.Network.of(lambda inputs: inputs["a"] @ inputs["b"], {"a": (2,), "b": (2,)})
    assert float(named(np.array([1.0, 2, 3, 4]))) == 11


def test_a_tuple_of_numbers_is_still_a_shape():
    assert ft.Network.of(jnp.sum, (2, 3)).input_shape == (2, 3)
    assert ft.Network.of(lambda x: x + 1, ()).input_shape == ()


def test_an_example_of_whole_numbers_is_one_of_token_ids():
    table = np.random.default_rng(0).normal(size=(5, 2))
    net = ft.Network.of(lambda ids: jnp.asarray(table)[ids].sum(0), np.array([0, 1, 2]))
    assert takes_tokens(net)
    assert np.allclose(net(np.array([4, 4, 1])), 2 * table[4] + table[1])


def test_whole_and_real_inputs_together_are_refused_with_what_to_do():
    with pytest.raises(SubjectError, match="different types") as caught:
        ft.Network.of(lambda batch: batch["x"], {"x": np.zeros(2), "ids": np.zeros(2, int)})
    assert "fix one" in str(caught.value)


def test_one_of_several_outputs_is_chosen_by_name_or_number():
    both = lambda x: {"logits": x, "state": 2 * x}
    with pytest.raises(SubjectError, match="output='logits' or 'state'"):
        ft.Network.of(both, (3,))
    assert float(ft.Network.of(both, (), output="state")(1.0)) == 2
    assert float(ft.Network.of(lambda x: (x, 3 * x), (), output=1)(1.0)) == 3
    with pytest.raises(SubjectError, match="did you mean state"):
        ft.Network.of(both, (3,), output="stat")


def test_a_module_of_equinox_takes_a_dictionary_and_keeps_its_parameters():
    class Both(eqx.Module):
        a: eqx.nn.Linear
        b: eqx.nn.Linear

        def __call__(self, inputs):
            return self.a(inputs["x"]) + self.b(inputs["y"])

    one, other = jax.random.split(jax.random.key(0))
    module = Both(eqx.nn.Linear(3, 2, key=one), eqx.nn.Linear(4, 2, key=other))
    net = ft.Network.of(module, {"x": np.zeros(3), "y": np.zeros(4)})
    assert net.parameters == 3 * 2 + 2 + 4 * 2 + 2
    x, y = np.arange(3.0), np.ones(4)
    assert np.allclose(
        net(np.concatenate([x, y])), module({"x": jnp.array(x), "y": jnp.array(y)}), atol=1e-5
    )


def test_an_audit_takes_a_dictionary_of_rows():
    left, right = np.random.default_rng(0).normal(size=(2, 20, 3))
    net = ft.Network.of(lambda both: both["left"] + both["right"], {"left": (3,), "right": (3,)})
    best = (left + right).argmax(1)
    labels = np.where(np.arange(20) < 3, (best + 1) % 3, best)
    rows = {"right": right, "left": left, "y": labels}
    found = ft.audit(net, rows, only=["test-error"], workers=0)
    (accuracy,) = [fact for fact in found.sections[0].facts if fact.key == "accuracy"]
    assert isinstance(accuracy.value, ft.Enclosure)
    assert accuracy.value.lo == pytest.approx(0.85)
