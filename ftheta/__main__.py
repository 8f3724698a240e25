"""`python -m ftheta` is the command line."""

from ftheta.cli import main

main()
