"""The documentation site: pages generated from the catalogue, the courses, the public names and stored runs.

`make docs` calls `python -m website results` (default runs as JSON), `python -m website pages` (sources for Sphinx),
Sphinx, and `python -m website inspect` (links, formulas and pictures of what was built). Nothing here needs Sphinx
but `conf.py`.
"""
