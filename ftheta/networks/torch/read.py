"""From a `.pt2` file to a function of parameters and one input."""

from pathlib import Path

from ftheta.networks.programs.importing import Imported, import_program

from .model import read_model


def read(path: Path, *, until: str | None = None, shape: tuple[int, ...] | None = None) -> Imported:
    """The network in a `.pt2` file, up to the node or tensor `until`.

    `shape` is that of one input, without the batch axis; it is needed where the file leaves lengths open.
    """
    return import_program(read_model(path).until(until), shape)
