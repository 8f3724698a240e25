"""An ONNX file in onnxruntime, for those who say that it may run there: the second opinion on our reading of it."""

from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.errors import SubjectError

from .model import parse, unpack_file

MOST_BYTES = 1 << 28
TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}


def run_rows(path: Path, rows: np.ndarray) -> list[Any]:
    """What onnxruntime makes of each row, as pairs of the row in the type of the file and its output."""
    if path.stat().st_size > MOST_BYTES:
        raise SubjectError("The file is too large to be read twice.")
    data = unpack_file(path)
    parse(data, str(path))  # refuses data in other files, which onnxruntime would look for itself
    try:
        import onnxruntime  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise SubjectError("Onnxruntime is not installed.") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return _run(session, rows)
    except SubjectError:
        raise
    except Exception as error:  # it has a class of errors for each status
        got = f"{type(error).__name__}: {str(error)[:200]}"
        raise SubjectError("Onnxruntime does not run the file.", got=got) from error


def _run(session: Any, rows: np.ndarray) -> list[Any]:
    inputs = session.get_inputs()
    if len(inputs) > 1 or len(session.get_outputs()) > 1:
        raise SubjectError("The file has several inputs or outputs.")
    dtype = TYPES.get(inputs[0].type)
    if dtype is None:
        raise SubjectError("Onnxruntime takes inputs of another type.", got=inputs[0].type)
    shape = inputs[0].shape
    batch = len(shape) == rows.ndim
    fed = [(row[None] if batch else row).astype(dtype) for row in rows]
    return [(x, np.asarray(session.run(None, {inputs[0].name: x})[0])) for x in fed]
