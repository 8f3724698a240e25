"""The folder of a lab, and the folders that killed labs leave behind."""

import os
import subprocess
import sys
import tempfile

import pytest

from ftheta.lab.scratch import Scratch, sweep


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def dead() -> int:
    """The number of a process that has ended."""
    return int(
        subprocess.run(
            [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
        ).stdout
    )


def left(temporary, name: str):
    path = temporary / name
    path.mkdir(mode=0o700)
    (path / "uploads").mkdir()
    (path / "uploads" / "upload.npz").write_bytes(b"abc")
    return path


def test_a_folder_is_there_until_it_is_closed(temporary):
    held = Scratch()
    assert held.room("uploads").parent == held.folder and held.folder.parent == temporary
    assert held.folder.stat().st_mode & 0o077 == 0
    sweep()
    assert held.folder.exists()
    held.close()
    held.close()
    assert not held.folder.exists()


def test_what_a_killed_lab_left_is_swept(temporary):
    unlocked = left(temporary, f"ftheta-lab-{dead()}-abc")
    locked_once = left(temporary, f"ftheta-lab-{dead()}-def")
    (locked_once / "lock").touch()
    sweep()
    assert not unlocked.exists() and not locked_once.exists()


def test_a_lab_of_another_container_keeps_its_folder(temporary):
    """Its number means nothing here; its lock does."""
    held = Scratch()
    moved = held.folder.rename(temporary / f"ftheta-lab-{dead()}-abc")
    sweep()
    assert moved.exists()
    os.close(held.lock)
    sweep()
    assert not moved.exists()


def test_what_is_not_surely_ours_stays(temporary, monkeypatch):
    number = dead()
    names = (
        f"ftheta-lab-{os.getpid()}-abc",
        f"ftheta-lab-{number}",
        "ftheta-lab-abc",
        f"ftheta-lab-{number}-a-b",
        "x",
    )
    kept = [left(temporary, name) for name in names]
    open_to_all = left(temporary, f"ftheta-lab-{number}-open")
    open_to_all.chmod(0o755)
    target = left(temporary, "target")
    link = temporary / f"ftheta-lab-{number}-link"
    link.symlink_to(target)
    file = temporary / f"ftheta-lab-{number}-file"
    file.touch(mode=0o600)
    linked_lock = left(temporary, f"ftheta-lab-{number}-lock")
    (linked_lock / "lock").symlink_to(temporary / "x")
    sweep()
    assert all(path.exists() for path in (*kept, open_to_all, target, link, file, linked_lock))
    theirs = left(temporary, f"ftheta-lab-{number}-theirs")
    monkeypatch.setattr(os, "getuid", lambda: theirs.stat().st_uid + 1)
    sweep()
    assert theirs.exists()


def test_links_inside_are_not_followed(temporary):
    outside = left(temporary, "outside")
    ours = left(temporary, f"ftheta-lab-{dead()}-abc")
    (ours / "uploads" / "link").symlink_to(outside)
    sweep()
    assert not ours.exists() and (outside / "uploads" / "upload.npz").exists()
