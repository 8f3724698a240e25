"""Labels in every coding that files use: what the network is judged by must be what was meant, or be doubted aloud."""

import io
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ftheta.auditing.facts.warnings import data_warnings
from ftheta.logic import SubjectError
from ftheta.networks import Dense, Description
from ftheta.subjects import Dataset, Network
from ftheta.subjects.files import with_notes
from ftheta.subjects.resolve import load_as

from . import Trial


def _network(outputs: int, names: tuple[str, ...]) -> Network:
    """The prediction is the place of the largest entry of the input."""
    layers = Description((Dense(np.eye(outputs), np.zeros(outputs)),))
    plain = Network.described(layers, "identity")
    return Network(
        plain.name, plain.apply, plain.params, plain.input_shape, plain.description, classes=names
    )


def _names(rng: np.random.Generator, count: int) -> np.ndarray:
    """Words in no order at all, some of them no ASCII, some alike but for their length."""
    letters = np.array(list("abcéß7_ "))
    words = set[str]()
    while len(words) < count:
        words.add("k" + "".join(rng.choice(letters, rng.integers(1, 4))).rstrip())
    return rng.permutation(sorted(words))


def coded_labels(rng: np.random.Generator) -> str | None:
    """Right labels of a perfect network, in one of the codings: they are read right, doubted, or refused."""
    classes = int(rng.integers(2, 13))
    y = rng.integers(0, classes, int(rng.integers(2, 40)))
    names = _names(rng, classes)
    coding = str(rng.choice(["numbers", "digits", "one-hot", "words", "bytes", "known words"]))
    coded = {
        "numbers": y,
        "digits": y.astype(str),
        "one-hot": np.eye(classes, dtype=rng.choice(["<f8", "<i4", "|b1"]))[y],
        "words": names[y],
        "bytes": np.char.encode(names, "utf-8")[y],
        "known words": names[y],
    }[coding]
    x = 9 * np.eye(classes)[y] + rng.uniform(size=(len(y), classes))
    net = _network(classes, tuple(names.tolist()) if coding == "known words" else ())
    try:
        judged = net.with_data(_loaded(x, coded))
    except SubjectError as error:
        missing = coding in ("words", "bytes") and len(set(y.tolist())) < classes
        return None if missing else f"{coding} of {classes} classes were refused: {error.what}"
    assert judged.data is not None and judged.data.y is not None
    right = judged.data.y.tolist() == y.tolist()
    told = " ".join(str(fact.value) for fact in data_warnings(judged, rng).facts)
    if coding in ("words", "bytes"):
        return (
            None
            if "alphabetical" in told
            else f"the order of {classes} words was guessed in silence"
        )
    return (
        None
        if right and "below the majority" not in told
        else f"{coding} of {classes} classes were misread: {told}"
    )


def _loaded(x: np.ndarray, y: np.ndarray) -> Dataset:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        file = io.BytesIO()
        np.savez(file, x=x, y=y)
        path.write_bytes(file.getvalue())
        return load_as(Dataset, path)


def contradictory_rows(rng: np.random.Generator) -> str | None:
    """Rows drawn with repetition: the noise floor that is told is that of counting by hand."""
    n = int(rng.integers(2, 60))
    x = rng.integers(0, int(rng.integers(1, 12)), (n, int(rng.integers(1, 3)))).astype(float)
    y = rng.integers(0, min(4, n), n)
    seen = defaultdict[bytes, Counter[int]](Counter)
    for row, label in zip(x, y.tolist()):
        seen[row.tobytes()][label] += 1
    apart = sum(sum(counts.values()) for counts in seen.values() if len(counts) > 1)
    right = sum(max(counts.values()) for counts in seen.values())
    told = [note for note in with_notes(Dataset("data", x, y)).notes if "another label" in note]
    if not apart:
        return f"contradictions where there are none: {told}" if told else None
    wanted = (f"{apart} of {n} rows", f"more than {right} rows")
    fits = len(told) == 1 and all(part in told[0] for part in wanted)
    return (
        None if fits else f"{apart} of {n} rows contradict and {right} can be right, told: {told}"
    )


TRIALS = (
    Trial("labels: coded", "labels that are taken for others without a word", coded_labels, 6),
    Trial(
        "labels: contradictory rows",
        "rows with two labels that go unmentioned or are miscounted",
        contradictory_rows,
        20,
    ),
)
