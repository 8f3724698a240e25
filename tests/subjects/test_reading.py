"""The one door for files: what a reader raises becomes ours, and no file takes more memory than is allowed."""

import io
import json
import os
import struct
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import SubjectError, UsageError
from ftheta.networks import random_mlp, reading
from ftheta.networks.reading import Allowance, Malformed, reading_file, unpack_gzip
from ftheta.subjects import resolve
from ftheta.subjects.files.labels import encode_labels, encoded_words

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

FOREIGN = (
    ValueError("two\nlines"),
    KeyError("name"),
    TypeError(),
    SystemError("invalid maximum character"),
    AssertionError(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    MemoryError(),
    RecursionError(),
    PermissionError("denied"),
    pa.ArrowException("Wrapping failed"),
    pa.ArrowMemoryError("malloc failed"),
)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", FOREIGN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "place", range(len(resolve.FORMATS)), ids=lambda place: resolve.FORMATS[place].endings[0]
)
def test_whatever_a_reader_raises_becomes_an_error_of_ours(tmp_path, monkeypatch, place, error):
    def fails(path, name, asked):
        raise error

    broken = replace(resolve.FORMATS[place], read=fails)
    monkeypatch.setattr(
        resolve, "FORMATS", (*resolve.FORMATS[:place], broken, *resolve.FORMATS[place + 1 :])
    )
    path = tmp_path / f"file{broken.endings[-1]}"
    path.write_bytes(b"data")
    with pytest.raises(SubjectError) as raised:
        ft.load(path)
    assert raised.value.__cause__ is error
    assert str(path) in str(raised.value) and raised.value.remedy


def test_errors_of_ours_and_interrupts_pass_the_door():
    for error in (SubjectError("ours"), UsageError("ours"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised, reading_file(Path("x.onnx"), "an ONNX model"):
            raise error
        assert raised.value is error


def test_a_name_that_no_file_can_have_is_no_file():
    long = "+".join(["x"] * 400)
    assert ft.load(long).dimension == 1  # type: ignore[union-attr]
    with pytest.raises(SubjectError):
        ft.load("y" * 300 + ".onnx")


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_a_name_that_is_not_utf8_is_read(tmp_path):
    table = pa.table({"a": pa.array([1.0, 2.0])})
    for suffix in (".npz", ".csv", ".parquet"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe" + suffix.encode()))
        if suffix == ".npz":
            with path.open("wb") as file:
                np.savez(file, x=np.ones((2, 3)))
        elif suffix == ".csv":
            path.write_text("a,b\n1,2\n")
        else:
            with path.open("wb") as file:
                parquet.write_table(table, file)
        assert ft.load(str(path)).name.encode("utf-8")


# ---- arrays ----------------------------------------------------------------------------------------------------------


def npy(kind: str, shape: object, body: bytes = b"") -> bytes:
    head = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body


def npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def peak(source, **asked) -> int:
    """Bytes that were asked for while a source was refused."""
    tracemalloc.start()
    try:
        with pytest.raises(SubjectError):
            ft.load(source, **asked)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ROWS = npy("<f8", (2, 1), bytes(16))


@pytest.mark.parametrize(
    "labels",
    [
        npy("<U0", (100_000_000,)),
        npy("|S0", (100_000_000,)),
        npy("|V0", (100_000_000,)),
        npy("<U1", (2,), struct.pack("<2I", 0x7FFFFFFF, 65)),
        npy("<U1", (2,), struct.pack("<2I", 0xD800, 65)),
        npy(">U1", (2,), struct.pack(">2I", 0x7FFFFFFF, 65)),
        npy("|S2", (2,), b"\xff\xe9ab"),
        npy("<f8", (0, 2**62)),
    ],
)
def test_arrays_that_no_memory_or_alphabet_holds_are_refused(tmp_path, labels):
    assert peak(npz(tmp_path / "x.npz", x=ROWS, y=labels)) < 1 << 22


def test_words_of_bytes_are_utf8(tmp_path):
    data = ft.load(npz(tmp_path / "x.npz", x=ROWS, y=npy("|S3", (2,), "é".encode() + b"\0ab\0")))
    assert data.classes == ("ab", "é") and data.y.tolist() == [1, 0]  # type: ignore[union-attr]


def test_small_numbers_of_weights_count_as_float64(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 1 << 20)
    path = npz(tmp_path / "bomb.npz", W0=npy("|i1", (512, 512), bytes(1 << 18)))  # 2 MiB as float64
    assert peak(path, activation="relu") < 1 << 20
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 3 << 20)
    assert ft.load(path, activation="relu").parameters == 512 * 512  # type: ignore[union-attr]


def test_a_tensor_of_no_numbers_and_an_endless_axis_is_refused(tmp_path):
    for shape in ([0, 2**62], [2**62, 0], [0, 2**31, 2**31]):
        head = json.dumps(
            {"a.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}
        ).encode()
        (tmp_path / "w.safetensors").write_bytes(struct.pack("<Q", len(head)) + head)
        with pytest.raises(SubjectError, match="more memory than is allowed"):
            ft.load(tmp_path / "w.safetensors", activation="relu")


def test_a_small_model_asks_for_little_memory(tmp_path):
    ft.save(random_mlp(np.random.default_rng(0), (3, 4, 2)), tmp_path / "net.onnx")
    ft.load(tmp_path / "net.onnx")
    tracemalloc.start()
    try:
        ft.load(tmp_path / "net.onnx")
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


def test_an_allowance_is_spent_before_anything_is_made(monkeypatch):
    allowance = Allowance("file", 10)
    assert allowance.limit == reading.ALWAYS_ALLOWED
    assert Allowance("file", 1 << 30).limit == reading.MAX_MEMORY
    for shape in ((-1,), (1,) * 33):
        with pytest.raises(Malformed):
            allowance.spend_array(shape, 8)
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 800)
    few = Allowance("file", 2)
    few.spend_array((50,), 1)
    few.spend_array((50,), 8)
    with pytest.raises(SubjectError, match="more memory"):
        few.spend_array((1,), 1)
    few.extend(10)
    few.spend_array((100,), 1)  # 200 times the bytes that belong to it
    with pytest.raises(SubjectError, match="more memory"):
        few.spend_array((200,), 1)


def test_gzip_is_unpacked_up_to_the_allowance(tmp_path, monkeypatch):
    import gzip

    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(bytes(5 << 20)))
    assert len(unpack_gzip(path)) == 5 << 20
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 2 << 20)
    monkeypatch.setattr(reading, "MAX_RATIO", 10)
    with pytest.raises(SubjectError, match="more memory"):
        unpack_gzip(path)


# ---- tables ----------------------------------------------------------------------------------------------------------


def table(**columns) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


def test_a_table_of_one_repeated_value_is_refused_before_it_unfolds(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ALWAYS_ALLOWED", 1 << 20)
    monkeypatch.setattr(reading, "MAX_RATIO", 10)
    (tmp_path / "t.parquet").write_bytes(table(a=np.zeros(200_000), b=np.zeros(200_000)))
    before = pa.total_allocated_bytes()
    assert peak(tmp_path / "t.parquet") < 1 << 20 and pa.total_allocated_bytes() <= before


@pytest.mark.parametrize("kind", ["word", "name", "cut", "rows"])
def test_damaged_tables_are_refused(tmp_path, kind):
    data = table(number=np.arange(4.0), word=["catcat", "dogdog", "catcat", "dogdog"])
    plain = io.BytesIO()
    parquet.write_table(
        pa.table({"number": np.arange(4.0), "word": ["catcat"] * 4}), plain, compression="none"
    )
    damaged = {
        "word": plain.getvalue().replace(b"catcat", b"c\xfft\xffat"),
        "name": plain.getvalue().replace(b"number", b"n\xffmber"),
        "cut": data[:-20],
        "rows": data[: len(data) // 2] + data[len(data) // 2 + 9 :],
    }[kind]
    path = tmp_path / "t.parquet"
    path.write_bytes(damaged)
    with pytest.raises(SubjectError):
        ft.load(path, labels="word")


def test_a_long_word_is_not_the_length_of_all(tmp_path):
    long = "w" * 100_000
    labels = encoded_words([long, *["cat"] * 5000], "labels")
    assert labels.classes == ("cat", long) and labels.y.tolist() == [1] + [0] * 5000
    path = tmp_path / "t.csv"
    path.write_text(
        "a,y\n" + "".join(f"{k},{word}\n" for k, word in enumerate([long, *["cat"] * 2000]))
    )
    tracemalloc.start()
    try:
        assert ft.load(path, labels="y").classes == ("cat", long)  # type: ignore[union-attr]
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_words_that_spell_whole_numbers_are_whole_numbers():
    labels = encode_labels(np.array(["10", "2", "-1", "2"]), "labels")
    assert labels.y.tolist() == [10, 2, -1, 2] and labels.classes == ()
    assert encode_labels(np.array(["10", "2", "x"]), "labels").classes == ("10", "2", "x")
    assert encode_labels(np.array([["b"], ["a"]]), "labels").y.tolist() == [1, 0]
    assert encode_labels(np.array(["b", "a"], dtype=object), "labels").y.tolist() == [1, 0]


def test_a_missing_file_is_said_to_be_missing_with_the_nearest_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").touch()
    for name in ("modle.onnx", "modle.weights"):
        with pytest.raises(SubjectError) as error:
            ft.load(name)
        assert "no such file" in str(error.value).lower()
    with pytest.raises(SubjectError, match=r"did you mean .*model\.onnx"):
        ft.load("model.onx")
