"""Standard output and standard error as a shell may hand them over: closed, full, in another encoding."""

import json
import os
import subprocess
import sys

import pytest

from ftheta.catalogue import entry_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="shells of POSIX")

FTHETA = f"{sys.executable} -m ftheta"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONUTF8": "0", **environment}
    return subprocess.run(["bash", "-c", line], capture_output=True, env=env, timeout=120)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("line", ["list", "list --json", "show nope --json", "--help"])
def test_an_answer_that_cannot_be_written_is_an_error_in_our_form(line):
    done = shell(f"{FTHETA} {line} > /dev/full")
    words = done.stderr.decode()
    assert (
        done.returncode == 2
        and "Standard output cannot be written." in words
        and "No space left" in words
    )
    assert "Traceback" not in words and "Exception ignored" not in words


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_streams_that_are_closed_change_no_exit_code(closed):
    assert shell(f"{FTHETA} list {closed}").returncode == 0
    wrong = shell(f"{FTHETA} show nope {closed}")
    assert wrong.returncode == 2
    assert wrong.stdout == b"" and b"Traceback" not in wrong.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_any_encoding_can_be_written(encoding):
    listed = shell(f"{FTHETA} list", PYTHONIOENCODING=encoding)
    assert listed.returncode == 0 and listed.stderr == b""
    assert "gd-strongly-convex" in listed.stdout.decode(encoding)
    document = shell(f"{FTHETA} show ntk-kernel --json", PYTHONIOENCODING=encoding)
    assert json.loads(document.stdout.decode(encoding)) == entry_of("ntk-kernel")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are not UTF-8")
@pytest.mark.parametrize("option", ["", "--json"])
def test_names_that_are_not_utf_8_are_told(option):
    done = shell(f"{FTHETA} show $'a\\xff' {option}", PYTHONIOENCODING="utf-8")
    told = done.stdout + done.stderr
    assert done.returncode in (2, 4) and b"udcff" in told
    assert b"Traceback" not in told and b"Internal" not in told


def test_a_name_that_is_not_utf_8_can_be_in_a_document(tmp_path):
    from ftheta.report.save import _write

    path = _write(
        tmp_path / "document.json",
        json.dumps({"name": os.fsdecode(b"a\xff.npz")}, ensure_ascii=False),
    )
    assert json.loads(path.read_text(encoding="utf-8"))["name"] == os.fsdecode(b"a\xff.npz")
