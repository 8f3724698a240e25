"""Write the index of the theorems and the bibliography that the package carries: `python -m ftheta.catalogue`."""

from . import write_index
from .bibliography import write_references

write_references()
write_index()
