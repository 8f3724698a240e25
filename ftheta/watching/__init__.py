"""Training, watched: dead units, gradient scales and sharpness every few steps, in a file and on a page."""

from .callbacks import lightning_callback as lightning_callback
from .watch import Watch as Watch
from .watch import watch as watch
