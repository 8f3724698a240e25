"""Files of the safetensors library are read number for number; a hostile one is a SubjectError, whatever is in it."""

import json

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import save, save_file

from ftheta.logic import SubjectError
from ftheta.networks import reading, safetensors
from ftheta.networks.safetensors import DTYPES, parse, read_safetensors

from ..thoroughness import max_examples

RNG = np.random.default_rng(0)
TENSORS = {
    "a": RNG.normal(size=(3, 4)),
    "b.c": RNG.normal(size=5).astype(np.float32),
    "half": RNG.normal(size=(2, 2)).astype(np.float16),
    "count": np.array(7),
    "mask": np.array([True, False]),
    "none": np.zeros((0, 3)),
}
DATA = save(TENSORS, metadata={"format": "np"})


def packed(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def entry(dtype: object = "F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_what_the_library_wrote_is_read_number_for_number(tmp_path):
    save_file(TENSORS, tmp_path / "w.safetensors")
    found = read_safetensors(tmp_path / "w.safetensors")
    assert set(found) == set(TENSORS)
    for name, array in TENSORS.items():
        assert found[name].shape == array.shape and np.array_equal(found[name], array)


def test_bfloat16_is_read_exactly():
    numbers = RNG.normal(size=6).astype(ml_dtypes.bfloat16)
    found = parse(packed({"w": entry("BF16", (6,), (0, 12))}, numbers.tobytes()), "bytes")["w"]
    assert found.dtype == np.float32 and np.array_equal(found, numbers.astype(np.float32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_of_number_has_its_size(dtype):
    size = DTYPES[dtype].itemsize
    assert parse(packed({"w": entry(dtype, (3,), (0, 3 * size))}, bytes(3 * size)), "bytes")[
        "w"
    ].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        (1 << 63).to_bytes(8, "little"),
        (100).to_bytes(8, "little") + b"{}",
        packed(b"[]"),
        packed(b"{"),
        packed(b"\xff\xfe"),
        packed(b"[" * 100_000),
        packed(b'{"a":' * 100_000),
        packed(b'{"w": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}, "w": 1}'),
        packed({"w": 3}),
        packed({"w": {"dtype": "F32", "shape": [2]}}, bytes(8)),
        packed({"w": entry("F8_E4M3", (8,))}, bytes(8)),
        packed({"w": entry(["F32"])}, bytes(8)),
        packed({"w": entry(shape=[-2], offsets=(0, 8))}, bytes(8)),
        packed({"w": entry(shape=[2.0])}, bytes(8)),
        packed({"w": entry(shape=[True] * 2, offsets=(0, 4))}, bytes(4)),
        packed({"w": entry(shape=[2**40, 2**40])}, bytes(8)),
        packed({"w": entry(shape=[1] * 40, offsets=(0, 4))}, bytes(4)),
        packed({"w": entry(offsets=(0, 16), shape=[4])}, bytes(8)),
        packed({"w": entry(offsets=(8, 0))}, bytes(8)),
        packed({"w": entry(offsets=(-8, 0))}, bytes(8)),
        packed({"w": entry(), "v": entry()}, bytes(8)),
        packed({"w": entry(), "v": entry(offsets=(4, 12))}, bytes(12)),
        packed({"w": entry(), "v": entry(offsets=(12, 20))}, bytes(20)),
        packed({"w": entry()}, bytes(9)),
    ],
    ids=range(26),
)
def test_a_hostile_file_is_refused(data):
    with pytest.raises(SubjectError, match="not a sound safetensors file"):
        parse(data, "bytes")


def test_limits(tmp_path, monkeypatch):
    path = tmp_path / "w.safetensors"
    path.write_bytes(DATA)
    limits = (
        (reading, "MAX_FILE", 50),
        (reading, "MAX_MEMORY", 40),
        (safetensors, "MAX_HEADER", 10),
        (safetensors, "MAX_TENSORS", 2),
    )
    for place, limit, value in limits:
        with monkeypatch.context() as patch:
            patch.setattr(place, limit, value)
            with pytest.raises(SubjectError):
                read_safetensors(path)
    (tmp_path / "empty.safetensors").write_bytes(b"")
    for name in ("empty.safetensors", "none.safetensors"):
        with pytest.raises(SubjectError):
            read_safetensors(tmp_path / name)


def refused_or_read(data):
    try:
        found = parse(data, "bytes")
    except SubjectError:
        return
    assert sum(array.size for array in found.values()) <= len(data) * 8


@max_examples(200)
@given(
    st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_changed_bytes_are_an_error_or_arrays(changes):
    data = bytearray(DATA)
    for place, value in changes:
        data[place] = value
    refused_or_read(bytes(data))


@max_examples(100)
@given(st.integers(0, len(DATA) - 1))
def test_a_file_cut_short_is_an_error(length):
    with pytest.raises(SubjectError):
        parse(DATA[:length], "bytes")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3)
    ),
    max_leaves=12,
)
_entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from([*DTYPES]) | _json,
        "shape": _json | st.lists(st.integers(0, 3)),
        "data_offsets": _json,
    }
)


@max_examples(150)
@given(
    _json | st.dictionaries(st.text(max_size=4), _entries | _json, max_size=3),
    st.binary(max_size=16),
)
@example({"__metadata__": 3}, b"")
def test_senseless_headers_are_an_error_or_arrays(header, body):
    refused_or_read(packed(header, body))
