"""Damaged and deceitful files: reading one ends in a subject or in an error of ours, within memory and time.

A sound file of each format is changed in its bytes (bits, cuts, lengths) or in its structure (a value of a header, of
its JSON or of its protocol buffer becomes another one), then loaded as a user would load it.
"""

import gzip
import io
import json
import os
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ftheta as ft
from ftheta.logic import FthetaError
from ftheta.networks import random_mlp
from ftheta.networks.onnx.schema import MODEL
from ftheta.networks.onnx.wire import Budget, decode, encode
from ftheta.networks.onnx.write import to_bytes

from . import Trial

# bytes: what any file may take, as it is in the file and once more as float64
MOST_MEMORY = 640 << 20
MOST_SECONDS = 5.0
NASTY: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 5, 255, 2**31, 2**62, 2**63 - 1, 2**63, -(2**63), 10**40),
    *(
        0.5,
        1e308,
        float("inf"),
        "",
        "x",
        "é\u0000",
        "a" * 300,
        [],
        {},
        [5],
        [[]],
        {"as_int": -1},
        [0, 2**62],
        [None],
    ),
)
"""Values where others are expected."""


def loaded(data: bytes, name: str, **asked: Any) -> str | None:
    """Load a file of these bytes; None, or what was wrong with that."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        _reset_peak()
        resident = _status("VmRSS")
        began = time.process_time()
        tracemalloc.start()
        try:
            ft.load(path, **asked)
        except FthetaError as error:
            if "more memory than there is" in error.what:
                return f"{name}: {error}"
        finally:
            allocated = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        seconds = time.process_time() - began
        memory = max(allocated, _status("VmHWM") - resident)
    if memory > MOST_MEMORY:
        return f"{name} of {len(data):,} bytes took {memory >> 20:,} MiB"
    return f"{name} of {len(data):,} bytes took {seconds:.1f} s" if seconds > MOST_SECONDS else None


def _reset_peak() -> None:
    """The largest memory so far is the present one, from now on."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _status(word: str) -> int:
    """Bytes of this process, as Linux counts them; 0 elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(f"{word}:")), 0)


# ---- changes ---------------------------------------------------------------------------------------------------------


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to three changes: bits, cuts, bytes put in, lengths, parts that repeat."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(max(len(found), 1)))
        if rng.random() < 0.4:  # the directory of an archive and the footer of a table come last
            at = max(len(found) - 1 - int(rng.integers(int(rng.choice([100, 400, 2000])))), 0)
        kind = rng.integers(6)
        if kind == 0 and found:
            found[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and found:
            found[at] = int(rng.integers(256))
        elif kind == 2:
            del found[at : at + int(rng.integers(1, 200))]
        elif kind == 3:
            found[at:at] = rng.bytes(int(rng.integers(1, 40)))
        elif kind == 4:
            size = int(rng.choice([1, 2, 4, 8]))
            number = int(rng.choice([0, 1, 0x7F, 0x7FFFFFFF, 2**31, 2**62, 2**63 - 1])) % (
                1 << 8 * size
            )
            found[at : at + size] = number.to_bytes(size, "little")
        else:
            found[at:at] = found[at : at + int(rng.integers(1, 200))]
    return bytes(found)


def twisted(value: Any, rng: np.random.Generator, nasty: tuple[Any, ...] = NASTY) -> Any:
    """A copy of nested lists and objects in which one value, anywhere, is another one, missing or there twice."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        key = list(value)[int(rng.integers(len(value)))]
        if rng.random() < 0.08:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: twisted(value[key], rng, nasty)}
    if isinstance(value, list) and value and rng.random() < 0.93:
        at = int(rng.integers(len(value)))
        odds = rng.random()
        if odds < 0.06:
            return value[:at] + value[at + 1 :]
        if odds < 0.12:
            return value[:at] + [value[at]] * 2 + value[at + 1 :]
        return [*value[:at], twisted(value[at], rng, nasty), *value[at + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.4:
        return value + int(rng.integers(-3, 4))
    return nasty[int(rng.integers(len(nasty)))]


def _zip(entries: dict[str, bytes], rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(
        file, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    ) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


# ---- formats ---------------------------------------------------------------------------------------------------------


@cache
def _onnx() -> bytes:
    return to_bytes(random_mlp(np.random.default_rng(0), (3, 4, 4, 2)))


def damaged_onnx(rng: np.random.Generator) -> str | None:
    data = changed(_onnx(), rng) if rng.random() < 0.5 else _twisted_onnx(rng)
    if rng.random() < 0.8:
        return loaded(data, "net.onnx")
    packed = gzip.compress(data)
    return loaded(changed(packed, rng) if rng.random() < 0.3 else packed, "net.onnx.gz")


def _twisted_onnx(rng: np.random.Generator) -> bytes:
    message = _plain(decode(MODEL, memoryview(_onnx()), Budget(10_000)))
    words = (
        b"",
        b"\xff" * 9,
        "",
        "x0",
        "Relu",
        "Reshape",
        "ConstantOfShape",
        "Expand",
        "Loop",
        0,
        1,
        7,
        11,
        -1,
        2**40,
    )
    for _ in range(rng.integers(1, 4)):
        message = twisted(message, rng, words)
    try:
        return encode(MODEL, message)
    except (
        AttributeError,
        MemoryError,
        TypeError,
        ValueError,
    ):  # a word or a number where bytes should be
        return changed(_onnx(), rng)


def _plain(message: Any) -> Any:
    """A decoded message in values that can be written again."""
    if isinstance(message, dict):
        return {name: _plain(value) for name, value in message.items() if value is not None}
    if isinstance(message, list):
        return [_plain(value) for value in message]
    return bytes(message) if isinstance(message, memoryview) else message


def damaged_pt2(rng: np.random.Generator) -> str | None:
    entries = _pt2()
    if rng.random() < 0.8:
        name = [key for key in entries if key.endswith(".json")][int(rng.integers(2))]
        document = json.loads(entries[name])
        for _ in range(rng.integers(1, 3)):
            document = twisted(document, rng)
        entries |= {name: json.dumps(document).encode()}
        return loaded(_zip(entries, rng), "net.pt2")
    return loaded(changed(_zip(entries, rng), rng), "net.pt2")


def _pt2() -> dict[str, bytes]:
    """What torch.export.save writes of Linear(3, 4), ReLU, Linear(4, 2), in its own words."""
    weights = {
        "0.weight": np.ones((4, 3)),
        "0.bias": np.ones(4),
        "2.weight": np.ones((2, 4)),
        "2.bias": np.ones(2),
    }
    held = {f"p_{name.replace('.', '_')}": name for name in weights}
    nodes = [
        _torch_node("linear", input="x", weight="p_0_weight", bias="p_0_bias"),
        _torch_node("relu", self="linear"),
        _torch_node("linear", "linear_1", input="relu", weight="p_2_weight", bias="p_2_bias"),
    ]
    state = [
        {"parameter": {"arg": {"name": key}, "parameter_name": name}} for key, name in held.items()
    ]
    signature = {
        "input_specs": [*state, {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "linear_1"}}}}],
    }
    graph = {"nodes": nodes, "tensor_values": {"x": _meta((1, 3))}}
    document = {
        "graph_module": {"graph": graph, "signature": signature},
        "schema_version": {"major": 8, "minor": 20},
    }
    config = {
        name: {"path_name": f"weight_{k}", "use_pickle": False, "tensor_meta": _meta(array.shape)}
        for k, (name, array) in enumerate(weights.items())
    }
    arrays = {
        f"net/data/weights/weight_{k}": a.astype("<f4").tobytes()
        for k, a in enumerate(weights.values())
    }
    return {
        "net/archive_format": b"pt2",
        "net/byteorder": b"little",
        "net/models/model.json": json.dumps(document).encode(),
        "net/data/weights/model_weights_config.json": json.dumps({"config": config}).encode(),
        **arrays,
    }


def _torch_node(op: str, out: str = "", **inputs: str) -> dict[str, Any]:
    given = [{"name": key, "arg": {"as_tensor": {"name": name}}} for key, name in inputs.items()]
    made = [{"as_tensor": {"name": out or op}}]
    return {
        "target": f"torch.ops.aten.{op}.default",
        "inputs": given,
        "outputs": made,
        "name": out or op,
    }


def _meta(shape: tuple[int, ...]) -> dict[str, Any]:
    strides = [int(np.prod(shape[k + 1 :], dtype=int)) for k in range(len(shape))]
    return {
        "dtype": 7,
        "sizes": [{"as_int": n} for n in shape],
        "strides": [{"as_int": n} for n in strides],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def damaged_safetensors(rng: np.random.Generator) -> str | None:
    header: dict[str, Any] = {
        "a.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "a.bias": {"dtype": "F64", "shape": [2], "data_offsets": [24, 40]},
    }
    if rng.random() < 0.7:
        header = twisted(header, rng)
    elif rng.random() < 0.5:  # no bytes for a shape that no memory holds
        header["b.weight"] = {
            "dtype": "F32",
            "shape": [0, int(rng.choice([2**31, 2**62]))],
            "data_offsets": [40, 40],
        }
    head = json.dumps(header).encode()
    data = struct.pack("<Q", len(head)) + head + bytes(40)
    return loaded(
        changed(data, rng) if rng.random() < 0.4 else data, "w.safetensors", activation="relu"
    )


def damaged_npz(rng: np.random.Generator) -> str | None:
    """Weights or data, with headers that promise other shapes and types than the bytes have."""
    words = rng.random() < 0.5
    arrays = [
        ("x", rng.normal(size=(4, 3))),
        ("y", np.array(["a", "bé", "c", "a"]) if words else np.arange(4)),
    ]
    if rng.random() < 0.3:
        arrays = [
            ("W0", rng.normal(size=(3, 2))),
            ("b0", np.zeros(3)),
            ("activations", np.array("relu")),
        ]
    entries = {f"{name}.npy": _npy(array, rng) for name, array in arrays}
    data = _zip(entries, rng)
    if rng.random() < 0.3:
        return loaded(next(iter(entries.values())), "x.npy")
    return loaded(changed(data, rng) if rng.random() < 0.3 else data, "x.npz")


def _npy(array: np.ndarray, rng: np.random.Generator) -> bytes:
    shape: Any = array.shape
    body = array.tobytes()
    kind = array.dtype.str
    if rng.random() < 0.3:
        kind = str(
            rng.choice(
                [
                    "<U0",
                    "|S0",
                    "|S2",
                    "<U1",
                    "|i1",
                    "<f2",
                    "<c16",
                    "|O",
                    "<V3",
                    "|b1",
                    ">U1",
                    "<M8[s]",
                ]
            )
        )
        shape = (len(body) // max(np.dtype(kind).itemsize, 1),)
    if rng.random() < 0.3:
        shape = [(10**8,), (0, 2**62), (2**62, 0), (-1,), (1,) * 40, (2**31, 2**31), 5, ()][
            int(rng.integers(8))
        ]
    if rng.random() < 0.3:
        body = rng.bytes(len(body))
    head = (
        f"{{'descr': {kind!r}, 'fortran_order': {rng.random() < 0.5}, 'shape': {shape}, }}".encode()
    )
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body


@cache
def _parquets() -> tuple[bytes, ...]:
    import pyarrow as pa
    from pyarrow import parquet

    n = 40
    table = pa.table(
        {
            "a": pa.array(np.linspace(0, 1, n)),
            "b": pa.array(np.arange(n, dtype=np.int32)),
            "flag": pa.array(np.arange(n) % 2 == 0),
            "word": pa.array(["cat", "dog"] * (n // 2)),
        }
    )
    found = []
    for compression in ("none", "snappy", "gzip", "zstd"):
        for dictionary in (True, False):
            file = io.BytesIO()
            parquet.write_table(
                table, file, compression=compression, use_dictionary=dictionary, row_group_size=25
            )
            found.append(file.getvalue())
    return tuple(found)


def damaged_parquet(rng: np.random.Generator) -> str | None:
    sound = _parquets()
    return loaded(changed(sound[int(rng.integers(len(sound)))], rng), "t.parquet", labels="word")


def damaged_table(rng: np.random.Generator) -> str | None:
    cells = [
        "1",
        "-2.5e3",
        "nan",
        "",
        "x",
        "1_000",
        "é",
        '"',
        "1e999",
        "0x10",
        "\x00",
        "9" * 400,
        "-",
        "a,b",
        "\r",
    ]
    rows = ["a,b,c", *(",".join(rng.choice(cells, 3)) for _ in range(rng.integers(0, 5))), "1,2,3"]
    text = "\n".join(rows).encode()
    data = changed(text, rng) if rng.random() < 0.5 else text
    name = str(rng.choice(["t.csv", "t.tsv", "t.txt"]))
    return loaded(data, name, labels=None if rng.random() < 0.5 else "c")


def damaged_spec(rng: np.random.Generator) -> str | None:
    spec: dict[str, Any] = {
        "input": [3],
        "layers": [{"kind": "dense", "name": "a", "activation": "relu"}, {"kind": "flatten"}],
        "ignore": ["b.*"],
    }
    arrays = {"a.weight": np.ones((2, 3)), "a.bias": np.ones(2)}
    held = io.BytesIO()
    np.savez(held, **arrays)  # type: ignore[arg-type]
    text = json.dumps(twisted(spec, rng)).encode()
    if rng.random() < 0.4:
        text = changed(text, rng)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "spec.json"
        path.write_bytes(text)
        return loaded(held.getvalue(), "w.npz", spec=str(path))


# ---- bombs -----------------------------------------------------------------------------------------------------------


def small_file_of_large_arrays(rng: np.random.Generator) -> str | None:
    """Arrays of one repeated value pack well: as `.npz`, `.onnx.gz`, `.parquet`, or with a stride of 0 in a `.pt2`."""
    numbers = int(2 ** rng.uniform(20, 26))
    kind = str(rng.choice(["npz", "gz", "pt2", "parquet"]))
    if kind == "npz":
        return loaded(
            _packed_zeros(numbers, str(rng.choice(["|i1", "<f2", "<f4", "<f8", "|S1", "<U1"]))),
            "x.npz",
        )
    if kind == "gz":
        return loaded(_packed_model(min(numbers, 1 << 26)), "net.onnx.gz")
    if kind == "pt2":
        meta = {
            "sizes": [{"as_int": numbers // 3}, {"as_int": 3}],
            "strides": [{"as_int": 0}, {"as_int": 0}],
        }
        entries = _pt2()
        name = "net/data/weights/model_weights_config.json"
        document = json.loads(entries[name])
        document["config"]["0.weight"]["tensor_meta"] |= meta
        return loaded(_zip(entries | {name: json.dumps(document).encode()}, rng), "net.pt2")
    return loaded(_long_table(min(numbers, 1 << 24)), "t.parquet")


def _packed_zeros(numbers: int, dtype: str) -> bytes:
    file = io.BytesIO()
    head = (
        f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({numbers // 64}, 64), }}".encode()
    )
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    left = numbers // 64 * 64 * np.dtype(dtype).itemsize
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("W0.npy", "w", force_zip64=True) as entry,
    ):
        entry.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        while left > 0:
            entry.write(bytes(min(left, 1 << 22)))
            left -= 1 << 22
    return file.getvalue()


def _packed_model(numbers: int) -> bytes:
    message = _plain(decode(MODEL, memoryview(_onnx()), Budget(10_000)))
    tensor = message["graph"]["initializer"][0]
    tensor |= {"dims": [numbers // 3, 3], "data_type": 3, "raw_data": bytes(numbers // 3 * 3)}
    return gzip.compress(encode(MODEL, message), 1)


def _long_table(rows: int) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(rows, np.int8)), pa.array(["w" * 1000])
    )
    parquet.write_table(
        pa.table({"a": column, "b": pa.array(np.zeros(rows, np.float32))}), file, compression="zstd"
    )
    return file.getvalue()


def name_that_is_not_text(rng: np.random.Generator) -> str | None:
    """A sound file whose name is no UTF-8 is read, and the name of the subject can be printed."""
    suffix, data = [
        (b".onnx", _onnx()),
        (b".npz", _zip({"W0.npy": _sound_npy(np.ones((2, 3)))}, rng)),
        (b".csv", b"a,b\n1,2\n3,5\n"),
        (b".parquet", _plain_parquet()),
        (b".pt2", _zip(_pt2(), rng)),
    ][int(rng.integers(5))]
    with TemporaryDirectory() as folder:
        path = os.fsencode(folder) + b"/" + bytes(rng.integers(0x80, 0xFF, 3, np.uint8)) + suffix
        Path(os.fsdecode(path)).write_bytes(data)
        ft.load(os.fsdecode(path)).name.encode("utf-8")
    return None


def _sound_npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@cache
def _plain_parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table({"a": pa.array([1.0, 2.0]), "b": pa.array([3, 4])}), file)
    return file.getvalue()


def _damaged(format: str, attempt: Callable[[np.random.Generator], str | None], few: int) -> Trial:
    says = f"a damaged {format} file that ends in an exception not ours, or takes too much memory or time"
    return Trial(f"files: damaged {format}", says, attempt, few)


TRIALS = (
    _damaged("onnx", damaged_onnx, 12),
    _damaged("pt2", damaged_pt2, 12),
    _damaged("safetensors", damaged_safetensors, 20),
    _damaged("npz", damaged_npz, 20),
    _damaged("parquet", damaged_parquet, 20),
    _damaged("table", damaged_table, 20),
    _damaged("spec", damaged_spec, 12),
    Trial(
        "files: small ones of large arrays",
        "a file of some kilobytes that takes more memory than is allowed",
        small_file_of_large_arrays,
        2,
    ),
    Trial(
        "files: names that are not text",
        "a sound file that is not read because its name is not UTF-8",
        name_that_is_not_text,
        5,
    ),
)
