"""Data sets by name: the bundled real ones and the generated ones of the field, as arrays."""

from .named_arrays import Data as Data
from .naming import dataset as dataset
from .naming import dataset_of_words as dataset_of_words
from .naming import knobs_of as knobs_of
from .operations import operation_table as operation_table
from .splitting import Split as Split
from .splitting import shared_rows as shared_rows
from .splitting import split as split
