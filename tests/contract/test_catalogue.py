"""The catalogue as a whole: discovery, the index, the imports."""

import json
import subprocess
import sys

import pytest

import ftheta
from ftheta.catalogue import entry_of, index, make_index, theorem, theorems
from ftheta.logic import Theorem, UsageError
from ftheta.theorems import CHAPTERS


def test_the_index_file_is_in_step_with_the_theorem_modules():
    assert json.loads(json.dumps(make_index())) == list(index().values()), "run `make index`"


def test_every_chapter_has_a_theorem():
    assert {t.chapter for t in theorems().values()} == set(CHAPTERS)


def test_ids_resolve_with_underscores_and_dashes():
    for id, found in theorems().items():
        assert theorem(id) is theorem(id.replace("-", "_")) is found
        assert isinstance(found, Theorem)


def test_an_unknown_id_suggests_the_nearest():
    with pytest.raises(UsageError, match="gd-strongly-convex"):
        entry_of("gd-strongly-konvex")
    with pytest.raises(UsageError, match="did you mean ntk-kernel"):
        entry_of("ntk")


def test_theorems_of_the_public_interface_can_be_called_when_their_package_is_imported():
    assert ftheta.theorems() is theorems()


def test_the_catalogue_is_read_only():
    with pytest.raises(TypeError):
        theorems()["x"] = None  # type: ignore[index]


@pytest.mark.parametrize(
    "words", [["list"], ["list", "--json"], ["show", "hat-function"], ["--help"], ["doctor"]]
)
def test_light_commands_import_neither_jax_nor_numpy(words):
    code = (
        f"import sys; from ftheta.cli import run; code = run({words!r}); assert code == 0\n"
        "heavy = {'jax', 'numpy', 'scipy', 'pydantic'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_importing_ftheta_changes_no_global_state():
    code = (
        "import ftheta, sys; assert 'jax' not in sys.modules; import jax, numpy, os;"
        "before = (jax.config.jax_enable_x64, numpy.random.get_state()[1].tolist(), dict(os.environ));"
        "import ftheta.checking; ftheta.check('gd-strongly-convex');"
        "after = (jax.config.jax_enable_x64, numpy.random.get_state()[1].tolist(), dict(os.environ));"
        "assert before == after"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
