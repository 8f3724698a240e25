"""Networks in ONNX files, read and written without any other package: see `docs/importing.md`."""

from .read import Imported as Imported
from .read import read as read
from .write import write as write
