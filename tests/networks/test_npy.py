"""Arrays of NumPy's own format: NumPy is the judge of sound files, and a broken one allocates nothing."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ftheta.logic import SubjectError
from ftheta.networks import reading
from ftheta.networks.npy import read_arrays, read_npy

from ..thoroughness import max_examples

ARRAYS = {"x": np.arange(12.0).reshape(3, 4), "words": np.array(["relu", "tanh"]), "n": np.array(3)}


def written(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


@max_examples(60)
@given(
    hnp.arrays(
        st.sampled_from(["<f8", ">f4", "i2", "?", "<U3"]), hnp.array_shapes(min_dims=0, min_side=0)
    )
)
def test_every_array_is_read_as_numpy_reads_it(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    for ordered in (array, np.asfortranarray(array)):
        np.save(path, ordered)
        found = read_npy(path)
        theirs = np.load(path)
        assert found.dtype == theirs.dtype and np.array_equal(
            found, theirs, equal_nan=theirs.dtype.kind == "f"
        )


def test_archives_packed_or_not(tmp_path):
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **ARRAYS)
        found = read_arrays(tmp_path / "a.npz")
        assert (
            all(np.array_equal(found[name], array) for name, array in ARRAYS.items())
            and len(found) == 3
        )
        found["x"] += 1  # it can be written to


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


def test_a_promise_of_more_numbers_than_bytes_is_refused_before_memory_is_asked_for(tmp_path):
    data = written(np.zeros(8))
    for shape in (b"(1000000000000,), ", b"(9,), ", b"(-8,), ", b"(7,), "):
        changed = data.replace(b"(8,), ", shape).replace(b" " * (len(shape) - 6) + b"\n", b"\n")
        (tmp_path / "x.npy").write_bytes(changed)
        archive(tmp_path / "x.npz", x=changed)
        with pytest.raises(SubjectError, match="cannot be read"):
            read_npy(tmp_path / "x.npy")
        with pytest.raises(SubjectError, match="cannot be read"):
            read_arrays(tmp_path / "x.npz")


def test_objects_are_never_unpickled(tmp_path):
    ran = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return (ran.touch, ())

    (tmp_path / "x.npy").write_bytes(written(np.array([Trap()], dtype=object)))
    archive(
        tmp_path / "x.npz", x=(tmp_path / "x.npy").read_bytes(), y=b"cos\nsystem\n(S'true'\ntR."
    )
    for read in (read_npy, read_arrays):
        with pytest.raises(SubjectError, match="cannot be read"):
            read(tmp_path / f"x.np{'y' if read is read_npy else 'z'}")
    assert not ran.exists()


def test_bombs_and_repeated_names_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 1 << 20)
    monkeypatch.setattr(reading, "MAX_FILE", 1 << 20)
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(1 << 20))
    np.save(tmp_path / "large.npy", np.zeros(1 << 20))
    with pytest.raises(SubjectError, match="more memory than is allowed"):
        read_arrays(tmp_path / "bomb.npz")
    with pytest.raises(SubjectError, match="larger than is allowed"):
        read_npy(tmp_path / "large.npy")
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as file, pytest.warns(UserWarning):
        for _ in range(2):
            file.writestr("x.npy", written(np.zeros(2)))
    with pytest.raises(SubjectError, match="two arrays"):
        read_arrays(tmp_path / "twice.npz")


def fuzzed(read, path, data, changes):
    changed = bytearray(data)
    for place, value in changes:
        changed[place % len(changed)] = value
    path.write_bytes(changed)
    try:
        read(path)
    except SubjectError:
        return


CHANGES = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), min_size=1, max_size=4)


@max_examples(150)
@given(CHANGES)
def test_changed_bytes_are_an_error_or_an_array(tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("fuzz")
    fuzzed(read_npy, folder / "x.npy", written(ARRAYS["x"]), changes)
    np.savez_compressed(folder / "a.npz", **ARRAYS)
    fuzzed(read_arrays, folder / "x.npz", (folder / "a.npz").read_bytes(), changes)
