"""`ftheta notebook`: a theorem or a course as a notebook."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def notebook(
    name: str,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "--save"))] = None,
    overwrite: Annotated[bool, Parameter(name=("--overwrite", "--force"), negative="")] = False,
) -> int:
    """Write a theorem or a course as a notebook: its words, and the lines that run it.

    Parameters
    ----------
    name
        The theorem, as `ftheta list` names it, or the course, as `ftheta course` does.
    out
        The file: .ipynb for Jupyter, .py for marimo; without it, the name of the theorem with .ipynb.
    overwrite
        Write over a file that exists.
    """
    from ftheta.report.notebook_files import full_name, write_notebook

    path = out or Path(f"{full_name(name)}.ipynb")
    cells = write_notebook(name, path, overwrite=overwrite)
    opened = "marimo edit" if path.suffix.lower() == ".py" else "jupyter lab"
    print(f"{path}: {cells} cells; open it with `{opened} {path}`")
    return 0
