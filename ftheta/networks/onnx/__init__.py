"""Networks in ONNX files, read and written without any other package: see `docs/importing.md`."""

from .model import read as read
from .write import write as write
