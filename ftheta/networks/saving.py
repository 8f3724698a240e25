"""Descriptions written to files; the suffix says which form."""

from pathlib import Path

from . import files
from .description import Description
from .onnx.write import write


def save(description: Description, path: Path) -> None:
    """Write a description as an ONNX file if the name ends so, else as a weight list."""
    if path.suffix == ".onnx":
        write(description, path)
    else:
        files.save(description, path)
