"""An environment of its own for every peer, from `benchmarks/peers/<name>.txt`, made once and kept in build/peers/."""

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).parent.parent / "peers"
HOME = Path("build/peers")
PATIENCE = 1200  # seconds for one installation
FOLDERS = {"nnenum": "FTHETA_NNENUM", "α,β-CROWN": "FTHETA_ABCROWN", "Marabou": "FTHETA_MARABOU"}
"""Peers that no package index has: the variables that name their folders, for `python -m benchmarks certify`."""


@dataclass(frozen=True)
class Environment:
    """A Python that has the peer, or the reason why there is none."""

    name: str
    python: Path | None
    reason: str = ""


def set_up(name: str) -> Environment:
    """The environment of a peer; made if it is not there or its requirements have changed."""
    wanted = _find_requirements(name)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in wanted)).hexdigest()
    folder = HOME / name
    python = folder / "bin" / "python"
    stamp = HOME / f"{name}.installed"
    if not (python.exists() and stamp.exists() and stamp.read_text() == digest):
        reason = _install(name, wanted, folder, python)
        if reason:
            return Environment(name, None, reason)
        stamp.write_text(digest)
    return Environment(name, python.absolute())


def _find_requirements(name: str) -> list[Path]:
    """`<name>.txt`, and where there is one `<name>.alone.txt`: packages installed without what they ask for.

    Those ask for versions that are not to be had, and work with the ones that the first file names.
    """
    alone = REQUIREMENTS / f"{name}.alone.txt"
    return [REQUIREMENTS / f"{name}.txt", *([alone] if alone.exists() else [])]


def _install(name: str, wanted: list[Path], folder: Path, python: Path) -> str:
    """Why it cannot be installed; nothing where it can."""
    print(f"installing {name} …", file=sys.stderr, flush=True)
    quiet = ["--quiet", "--no-compile", "--disable-pip-version-check", "--prefer-binary"]
    pip = [str(python), "-m", "pip", "install", *quiet]
    commands = [[sys.executable, "-m", "venv", "--clear", str(folder)]]
    for file in wanted:
        alone = ["--no-deps"] if file.stem.endswith(".alone") else []
        commands.append([*pip, *alone, "--requirement", str(file)])
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return f"not installed within {PATIENCE} s"
        if done.returncode:
            return _first_error(done.stderr).replace(f"{REQUIREMENTS}{os.sep}", "")
    return ""


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["pip failed without a word"])[0]


def name_missing_folders() -> dict[str, str]:
    """Peers that are taken from folders and have none."""
    return {
        peer: f"{variable} names no folder"
        for peer, variable in FOLDERS.items()
        if not Path(os.environ.get(variable, "")).is_dir() or variable not in os.environ
    }
