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
    wanted = REQUIREMENTS / f"{name}.txt"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    folder = HOME / name
    python = folder / "bin" / "python"
    stamp = HOME / f"{name}.installed"
    if not (stamp.exists() and stamp.read_text() == digest):
        reason = _install(wanted, folder, python)
        if reason:
            return Environment(name, None, reason)
        stamp.write_text(digest)
    return Environment(name, python.absolute())


def _install(wanted: Path, folder: Path, python: Path) -> str:
    """Why it cannot be installed; nothing where it can."""
    print(f"installing {wanted.stem} …", file=sys.stderr, flush=True)
    quiet = ["--quiet", "--no-compile", "--disable-pip-version-check", "--prefer-binary"]
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", *quiet, "--requirement", str(wanted)],
    )
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return f"not installed within {PATIENCE} s"
        if done.returncode:
            return _first_error(done.stderr).replace(str(wanted), wanted.name)
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
