"""A Python environment with ftheta as users install it: the built wheel and the packages that it requires, alone."""

import os
import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def build(target: str, folder: Path) -> Path:
    """Build the `wheel` or the `sdist` of this checkout without a network."""
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        target,
        "--directory",
        str(folder),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


class CleanEnvironment:
    """An environment in a folder; `install` a wheel into it, then `run` its commands outside of the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outside = folder / "elsewhere"
        venv.create(folder / "environment", with_pip=False)
        self.outside.mkdir()

    @property
    def python(self) -> Path:
        return self.folder / "environment" / "bin" / "python"

    @property
    def packages(self) -> Path:
        (found,) = (self.folder / "environment" / "lib").glob("python*/site-packages")
        return found

    def install(self, wheel: Path) -> None:
        """Install the wheel by pip; what it requires is linked from the environment of the tests."""
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.python),
            "install",
            "--no-deps",
            "--no-index",
            "--quiet",
        ]
        subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
        (own,) = self.packages.glob("ftheta-*.dist-info")
        for required in _closure(Distribution.at(own)):
            self._link(required)

    def _link(self, package: Distribution) -> None:
        for name in {file.parts[0] for file in package.files or () if file.parts[0] != ".."}:
            link = self.packages / name
            if not link.exists():
                link.symlink_to(Path(str(package.locate_file(name))))

    @property
    def variables(self) -> dict[str, str]:
        """The environment of its processes: nothing of the checkout is on the path."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "PYTHONHOME")
        }
        return kept | {"NO_COLOR": "1", "COLUMNS": "120"}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command line of its `ftheta`."""
        command = [self.python.with_name("ftheta"), *words]
        return subprocess.run(
            command, cwd=self.outside, env=self.variables, capture_output=True, text=True
        )

    def execute(self, code: str) -> subprocess.CompletedProcess[str]:
        """Lines of Python."""
        command = [self.python, "-c", code]
        return subprocess.run(
            command, cwd=self.outside, env=self.variables, capture_output=True, text=True
        )


def _closure(package: Distribution) -> list[Distribution]:
    """What a distribution requires, directly or not, without any extra."""
    found: dict[str, Distribution] = {}
    waiting = _required(package)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = distribution(name)
            waiting += _required(found[name])
    return list(found.values())


def _required(package: Distribution) -> list[str]:
    """Names of the requirements that hold here; those of other platforms and Pythons are not installed."""
    from packaging.requirements import Requirement

    read = (Requirement(words) for words in package.requires or ())
    return [r.name for r in read if r.marker is None or r.marker.evaluate({"extra": ""})]
