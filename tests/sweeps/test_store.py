"""The store by itself: what is committed is there, and what is not one of ours is left alone."""

import math
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError, UsageError
from ftheta.sweeps import Grid, Store, Table
from ftheta.sweeps.store import Outcome
from ftheta.sweeps.stored_values import read, to_stored_value

GRID = Grid({"a": [1, 2, 3], "b": ["x", (1, 2), None]}, 2)


def filled(
    path, results=lambda cell: {"loss": cell.settings["a"] / 3, "flag": True, "w": np.arange(3.0)}
):
    store = Store(path)
    study = store.study("digest", "name", {"about": 1}, GRID.names)
    found = [(GRID.key(i), GRID[i], Outcome(results(GRID[i]), None, 0.1)) for i in range(len(GRID))]
    study.commit(found)
    return store, study


def test_what_is_committed_is_read_back_with_its_types(tmp_path):
    filled(tmp_path / "runs.db")[0].close()
    with Store(tmp_path / "runs.db") as store:
        study = store.study("digest", "name", {})
        rows = {row.key: row for row in study.rows()}
        assert len(rows) == len(GRID) and study.columns() == (["a", "b"], ["loss", "flag"])
        for i in range(len(GRID)):
            settings, seed = GRID[i]
            assert rows[GRID.key(i)].values == {
                **settings,
                "seed": seed,
                "loss": settings["a"] / 3,
                "flag": True,
            }
        assert all((array == np.arange(3.0)).all() for array in study.arrays("w").values())
        assert store.studies()[0]["done"] == len(GRID)


@given(
    st.one_of(
        st.floats(),
        st.integers(),
        st.text(),
        st.booleans(),
        st.none(),
        st.lists(st.integers(), max_size=3),
    )
)
def test_every_value_survives_sqlite_bit_for_bit(value):
    db = sqlite3.connect(":memory:")
    try:
        found = read(db.execute("SELECT ?", (to_stored_value(value),)).fetchone()[0])
    except UnicodeEncodeError:  # half a surrogate pair is no text
        return
    finally:
        db.close()
    expected = tuple(value) if isinstance(value, list) else value
    if isinstance(value, float) and math.isnan(value):
        assert found is None
    else:
        assert type(found) is type(expected) and repr(found) == repr(expected)


def test_a_cell_is_kept_once_and_the_first_outcome_stays(tmp_path):
    store, study = filled(tmp_path / "runs.db")
    study.commit([(GRID.key(0), GRID[0], Outcome({"loss": 99.0}, None, 0.0))])
    row = next(row for row in study.rows() if row.key == GRID.key(0))
    assert row.values["loss"] == 1 / 3 and study.counts().done == len(GRID)
    store.close()


def test_a_query_picks_rows_by_settings(tmp_path):
    store, study = filled(tmp_path / "runs.db")
    assert (
        len(list(study.rows({"a": 2}))) == 6
        and len(list(study.rows({"b": (1, 2), "seed": 1}))) == 3
    )
    assert len(list(study.rows({"b": None}))) == 6
    plan = study._db.execute("EXPLAIN QUERY PLAN SELECT * FROM cells_1 WHERE a IS 2").fetchall()
    assert "USING INDEX" in plan[0][-1]
    with pytest.raises(UsageError, match="no such column"):
        list(study.rows({"c": 1}))
    store.close()


def test_a_result_with_the_name_of_a_setting_fails_its_cell_alone(tmp_path):
    store, study = filled(tmp_path / "runs.db", lambda cell: {"A" if cell.seed else "loss": 1.0})
    counts = study.counts()
    assert counts.failed == counts.done == len(GRID) // 2
    assert "name of a setting" in next(row.error for row in study.rows() if row.error)
    store.close()


def test_two_clients_never_claim_the_same_cell_and_a_dead_one_claims_nothing(tmp_path):
    first = Store(tmp_path / "runs.db")
    second = Store(tmp_path / "runs.db")
    keys = [GRID.key(i) for i in range(6)]
    one, two = (store.study("d", "n", {}, GRID.names) for store in (first, second))
    assert one.claim(keys[:4]) == ["mine"] * 4
    assert two.claim(keys) == ["theirs"] * 4 + ["mine"] * 2
    assert one.claim(keys[3:5]) == ["mine", "theirs"]  # its worker died, and it is handed out again
    one.commit([(keys[0], GRID[0], Outcome({"v": 1}, None, 0.0))])
    assert two.claim(keys[:2]) == ["done", "theirs"]
    first._lock.close()  # what the system does for a client that dies  # type: ignore[union-attr]
    assert two.claim(keys[:4]) == ["done", "mine", "mine", "mine"]
    second.close()
    assert not list(tmp_path.glob("*.client"))


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(SubjectError, match="damaged"):
        Store(tmp_path / "text.db")
    assert (tmp_path / "text.db").read_text().startswith("hello")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    with pytest.raises(SubjectError, match="not a run store"):
        Store(tmp_path / "other.db")
    with pytest.raises(UsageError, match="folder"):
        Store(tmp_path / "no" / "runs.db")


def test_a_store_of_another_version_is_refused_unchanged(tmp_path):
    filled(tmp_path / "runs.db")[0].close()
    db = sqlite3.connect(tmp_path / "runs.db")
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(SubjectError, match="another version"):
        Store(tmp_path / "runs.db")


def test_a_damaged_store_says_so(tmp_path):
    path = tmp_path / "runs.db"
    store, _ = filled(path)
    store.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    with pytest.raises(SubjectError, match="damaged"), Store(path) as store:
        list(store.study("digest", "name", {}).rows())


def test_a_full_disk_is_said_so_and_takes_nothing_that_was_committed(tmp_path):
    path = tmp_path / "runs.db"
    script = f"""
        import resource, signal
        from ftheta.logic import SubjectError
        from ftheta.sweeps import Grid, Store
        from ftheta.sweeps.store import Outcome
        grid = Grid({{"a": list(range(2000))}})
        store = Store({str(path)!r})
        study = store.study("d", "n", {{}}, grid.names)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        done = 0
        try:
            for i in range(len(grid)):
                study.commit([(grid.key(i), grid[i], Outcome({{"word": "x" * 1000}}, None, 0.0))])
                done += 1
        except SubjectError as error:
            print(done, str(error).replace("\\n", " "))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True
    )
    done, words = run.stdout.split(" ", 1)
    assert "cannot grow" in words and "make room" in words and 0 < int(done) < 2000, run.stderr
    with Store(path) as store:
        study = store.study("d", "n", {})
        assert study.counts().done == int(done)
        assert all(row.values["word"] == "x" * 1000 for row in study.rows())


def test_a_table_keeps_its_types_in_every_file(tmp_path):
    columns = {
        "n": [1, 2],
        "x": [0.1, None],
        "w": ["a", 'b,"c'],
        "t": [(1, 2), None],
        "f": [True, False],
        "i": [math.inf, -0.0],
    }
    table = Table(columns)
    assert [table[name].dtype.kind for name in columns] == ["i", "f", "O", "O", "b", "f"]
    assert table.same(Table(columns)) and not table.same(Table(columns | {"i": [math.inf, 0.0]}))
    for kind in ("csv", "parquet", "json"):
        table.save(tmp_path / f"t.{kind}")
    import pandas

    csv = pandas.read_csv(tmp_path / "t.csv")
    parquet = pandas.read_parquet(tmp_path / "t.parquet")
    for frame in (csv, parquet, table.to_pandas()):
        n, x, w, i = (frame[name].tolist() for name in "nxwi")
        assert (
            n == [1, 2]
            and x[0] == 0.1
            and np.isnan(x[1])
            and w == ["a", 'b,"c']
            and i[0] == math.inf
        )
    assert "1-2" in str(table)
    with pytest.raises(UsageError, match="another kind"):
        table.save(tmp_path / "t.xlsx")
    with pytest.raises(UsageError, match="no such column"):
        table["zzz"]


@pytest.mark.parametrize("damage", ["cut", "empty", "shape", "object", "word", "noise"])
def test_a_damaged_array_is_said_so(tmp_path, damage):
    store, study = filled(tmp_path / "runs.db")
    whole = study._db.execute("SELECT data FROM arrays").fetchone()[0]
    data = {
        "cut": whole[:-3],
        "empty": b"",
        "shape": whole.replace(b"(3,)", b"(9999999999999,)"),
        "object": whole.replace(b"<f8", b"|O "),
        "word": "a word",
        "noise": bytes(reversed(whole)),
    }[damage]
    study._db.execute("UPDATE arrays SET data = ?", (data,))
    with pytest.raises(SubjectError, match="damaged"):
        study.arrays("w")
    store.close()


@given(st.data())
def test_any_damage_of_an_array_is_an_error_or_an_array_of_its_size(data):
    from ftheta.sweeps.arrays import pack_array, unpack_array

    whole = bytearray(pack_array(np.arange(6.0).reshape(2, 3)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ValueError):
        assert unpack_array(bytes(whole)).nbytes <= len(whole)


def test_values_of_another_kind_are_damage_too(tmp_path):
    store, study = filled(tmp_path / "runs.db")
    study._db.execute("UPDATE cells_1 SET b = ?", (b"{no json",))
    with pytest.raises(SubjectError, match="damaged"):
        list(study.rows())
    study._db.execute("UPDATE studies SET about = ?", ("{no json",))
    with pytest.raises(SubjectError, match="damaged"):
        store.studies()
    store.close()


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path, monkeypatch):
    with pytest.raises(SubjectError, match="cannot be used"):
        Store(tmp_path)
    store, study = filled(tmp_path / "runs.db")
    refused = sqlite3.OperationalError("unable to open database file")

    def refuse(*_, **__):
        raise refused

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(
        SubjectError, match="cannot be used"
    ):  # the lock of this client is a file beside the store
        study.claim([GRID.key(0)])
    with pytest.raises(SubjectError, match="cannot be used"):
        Store(tmp_path / "other.db")
    store.close()


def test_a_client_that_opens_a_new_store_waits_for_one_that_is_about_to_write(tmp_path):
    """SQLite does not wait for others by itself where it begins a log: it says at once that the file is locked."""
    path = tmp_path / "runs.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, other.close).start()
    with Store(path) as store:
        assert store.path == path
