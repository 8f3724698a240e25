"""Data from files: what is read, what is noted, and what is refused with the place of the trouble."""

import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ftheta as ft
from ftheta.logic import SubjectError
from ftheta.subjects.files import table
from ftheta.subjects.files.table import parse
from ftheta.subjects.resolve import load_as

from ..thoroughness import max_examples

IRIS = "length,width,species\n5.1,3.5,setosa\n7.0,3.2,versicolor\n6.3,3.3,virginica\n5.9,3.0,virginica\n"


def csv(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def data(path, **asked):
    found = ft.load(path, **asked)
    assert isinstance(found, ft.Dataset)
    return found


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["species", "last"])
def test_a_table_with_words_for_labels(tmp_path, labels):
    found = data(csv(tmp_path, IRIS), labels=labels)
    assert found.x.tolist() == [[5.1, 3.5], [7.0, 3.2], [6.3, 3.3], [5.9, 3.0]]
    assert found.y is not None and found.y.tolist() == [0, 1, 2, 2] and found.y.dtype == np.int64
    assert found.classes == ("setosa", "versicolor", "virginica") and found.columns == (
        "length",
        "width",
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", ", "])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_delimiters_headers_and_line_ends_are_found(tmp_path, delimiter, header, end):
    rows = [["a", "b c", "y"]] * header + [["1", "-2.5e3", "0"], ["0.5", "7", "1"]]
    found = data(
        csv(tmp_path, "\ufeff" + end.join(delimiter.join(row) for row in rows)), labels="last"
    )
    assert (
        found.x.tolist() == [[1, -2500], [0.5, 7]]
        and found.y is not None
        and found.y.tolist() == [0, 1]
    )
    assert found.y.dtype == np.int64 and found.columns == (
        ("a", "b c") if header else ("column 1", "column 2")
    )


def test_targets_that_are_no_classes_stay_numbers(tmp_path):
    for cells, kind in ((("1.5", "2"), "f"), (("1.0", "2.0"), "f"), (("1", "2"), "i")):
        found = data(
            csv(tmp_path, "x,y\n" + "".join(f"3.5,{cell}\n" for cell in cells)), labels="y"
        )
        assert found.y is not None and found.y.dtype.kind == kind


def test_what_pandas_and_numpy_write(tmp_path):
    found = data(csv(tmp_path, ",a,y\n0,1.5,True\n1,2.5,False\n"), labels="y")
    assert found.x.tolist() == [[1.5], [2.5]] and "left out" in found.notes[0]
    buffer = io.StringIO()
    np.savetxt(buffer, np.eye(3), delimiter=",", header="a,b,c")
    found = data(csv(tmp_path, buffer.getvalue()))
    assert found.x.tolist() == np.eye(3).tolist() and found.columns == ("a", "b", "c")


def test_numbers_that_count_columns_are_a_header(tmp_path):
    found = data(csv(tmp_path, "0,1,label\n0.5,0.25,1\n0.75,0.5,0\n"), labels="label")
    assert found.x.tolist() == [[0.5, 0.25], [0.75, 0.5]] and found.columns == ("0", "1")


def test_quoted_cells_and_one_column(tmp_path):
    assert data(csv(tmp_path, '"a, b","c"\n"1","2"\n')).columns == ("a, b", "c")
    assert data(csv(tmp_path, "1\n2\n")).x.tolist() == [[1], [2]]


@max_examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hnp.arrays(
        np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1e300, 1e300)
    )
)
def test_every_number_is_read_back_exactly(tmp_path, array):
    text = "\n".join(",".join(map(repr, row)) for row in array.tolist())
    assert np.array_equal(data(csv(tmp_path, text)).x, array)


@pytest.mark.parametrize(
    "text, parts",
    [
        ("a,b\n1,2\n3,x\n", ("line 3", "'b'", "'x'")),
        ("a,b\n1,2\n3,1_000\n", ("line 3", "'1_000'")),
        ("5.1,3.5,x\n4.9,3.0,1.4\n", ("line 1", "'column 3'", "'x'")),
        ("a,b\n1,2\n3,\n5,NaN\n,6\n", ("missing", "line 3", "1 in 'a', 2 in 'b'")),
        ("a,b\n1,2\n3,inf\n", ("finite", "line 3", "'b'")),
        ("a,b\n1,2\n3,1e999\n", ("finite", "line 3")),
        ("a,b\n1,2\n3\n", ("line 3", "1 cells, 2 in the first row")),
        ("a;b\n1,5;2,5\n", ("line 2", "decimals with a point")),
        ("a,a\n1,2\n", ("same name", "a")),
        ("a,b\n", ("no rows", "header")),
        ("", ("empty",)),
        ("\n\n", ("no rows",)),
        ('a,b\n1,"2\n', ("not a table",)),
        ("red,blue\n1,x\n", ("words", 'labels="blue"')),
    ],
)
def test_a_bad_cell_is_named_with_its_line_and_column(tmp_path, text, parts):
    with pytest.raises(SubjectError) as caught:
        ft.load(csv(tmp_path, text))
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_a_missing_label_and_labels_alone_are_refused(tmp_path):
    with pytest.raises(SubjectError, match="missing"):
        ft.load(csv(tmp_path, IRIS + "1.0,2.0,\n"), labels="species")
    with pytest.raises(SubjectError, match="nothing beside"):
        ft.load(csv(tmp_path, "y\n1\n2\n"), labels="y")
    with pytest.raises(SubjectError, match="choose one of length, width, species"):
        ft.load(csv(tmp_path, IRIS), labels="colour")


def test_bytes_that_are_no_text_and_files_that_are_too_large(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(SubjectError, match="UTF-8"):
        ft.load(tmp_path / "x.csv")
    for limit, value in (("MAX_BYTES", 10), ("MAX_CELLS", 3), ("MAX_COLUMNS", 1)):
        with monkeypatch.context() as patch, pytest.raises(SubjectError, match="than is allowed"):
            patch.setattr(table, limit, value)
            ft.load(csv(tmp_path, IRIS), labels="species")


@max_examples(200)
@given(st.text(alphabet='abc01-.,;\t\n\r" #_e?', max_size=60))
def test_any_text_is_a_table_or_an_error(text):
    try:
        found = parse(text, "text")
        assert np.isfinite(found.numbers).all() and found.numbers.shape[1] == len(found.names)
    except SubjectError:
        return


@max_examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, len(IRIS) - 1), st.integers(0, 255)), min_size=1, max_size=3)
)
def test_changed_bytes_are_data_or_an_error(tmp_path, changes):
    text = bytearray(IRIS.encode())
    for place, value in changes:
        text[place] = value
    (tmp_path / "x.csv").write_bytes(text)
    try:
        assert isinstance(ft.load(tmp_path / "x.csv", labels="last"), ft.Dataset)
    except SubjectError:
        return


# ---- arrays ----------------------------------------------------------------------------------------------------------

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(
    "names",
    [
        ("x", "y"),
        ("X", "y"),
        ("X_test", "y_test"),
        ("data", "target"),
        ("images", "labels"),
        ("features", "labels"),
    ],
)
def test_arrays_with_common_names(tmp_path, names):
    np.savez(tmp_path / "d.npz", **dict(zip(names, (X, Y))))  # type: ignore[arg-type]
    found = data(tmp_path / "d.npz")
    assert np.array_equal(found.x, X) and np.array_equal(found.y, Y)  # type: ignore[arg-type]


def test_what_is_ambiguous_is_refused_and_can_be_chosen(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, x_train=X, y_train=Y, x_test=X + 1, y_test=Y)
    with pytest.raises(SubjectError, match='labels="y_train"'):
        load_as(ft.Dataset, path)
    assert np.array_equal(data(path, labels="y_test").x, X + 1)
    np.savez(path, X, Y)
    assert np.array_equal(data(path, labels="arr_1").x, X)
    np.savez(path, a=X, b=Y, c=X)
    for asked in ({}, {"labels": "b"}):
        with pytest.raises(SubjectError):
            load_as(ft.Dataset, path, **asked)


def test_one_array_and_labels_in_a_file_of_their_own(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y[:, None])
    np.savez(tmp_path / "y.npz", y=Y)
    csv(tmp_path, "label\n" + "\n".join("abcabc"), "y.csv")
    assert data(tmp_path / "x.npy").y is None
    for name in ("y.npy", "y.npz", "y.csv"):
        found = data(tmp_path / "x.npy", labels=str(tmp_path / name))
        assert found.y is not None and found.y.tolist() == Y.tolist()
    np.savez(tmp_path / "x.npz", X)
    assert data(tmp_path / "x.npz", labels=str(tmp_path / "y.npy")).y is not None
    with pytest.raises(SubjectError, match="one label per row"):
        np.save(tmp_path / "y.npy", Y[:3])
        ft.load(tmp_path / "x.npy", labels=str(tmp_path / "y.npy"))


def test_words_in_an_archive_are_classes(tmp_path):
    np.savez(tmp_path / "d.npz", x=X, y=np.array(["b", "a", "c"] * 2))
    found = data(tmp_path / "d.npz")
    assert (
        found.classes == ("a", "b", "c")
        and found.y is not None
        and found.y.tolist() == [1, 0, 2] * 2
    )


@pytest.mark.parametrize(
    "array",
    [np.arange(3.0), np.zeros((0, 2)), np.array([["a"]]), np.array([[1j]]), np.array([[np.nan]])],
)
def test_arrays_that_are_no_data_are_refused(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(SubjectError):
        ft.load(tmp_path / "x.npy")


def test_other_kinds_of_files_say_what_to_do(tmp_path):
    for name, part in (
        ("x.parquet", "not a Parquet"),
        ("m.pkl", "runs code"),
        ("m.joblib", "runs code"),
        ("m.h5", "spec"),
    ):
        (tmp_path / name).write_bytes(b"data")
        with pytest.raises(SubjectError, match=part):
            ft.load(tmp_path / name)


# ---- notes and labels ------------------------------------------------------------------------------------------------


def test_constant_columns_and_repeated_rows_are_noted(tmp_path):
    found = data(csv(tmp_path, "a,b,y\n1,5,0\n2,5,1\n1,5,0\n"), labels="y")
    assert found.notes == ("1 of 2 columns are constant: b", "1 of 3 rows repeat others")
    assert data(csv(tmp_path, IRIS), labels="species").notes == ()


def test_classes_that_do_not_begin_at_zero_or_have_gaps_are_noted():
    told = lambda y: data(np.random.default_rng(0).normal(size=(len(y), 2)), labels=y).notes
    assert told([1, 2, 3]) == ("labels begin at 1: classes are counted from 0",)
    assert told([0, 1, 3, 3]) == ("1 of the labels from 0 to 3 have no row",)
    assert told([-1, 1, 1]) == told([0, 1, 2]) == told([0.5, 1.5]) == told([3, 700, -20]) == ()


def test_labels_that_are_no_outputs_are_refused():
    net = ft.load("digits-mlp")
    assert isinstance(net, ft.Network)
    x = np.random.default_rng(0).normal(size=(4, 64))
    for y in ([0, 1, 2, 10], [-1, 1, 1, -1]):
        with pytest.raises(SubjectError, match="10 outputs counted from 0"):
            net.with_data(ft.Dataset("rows", x, np.array(y)))
    kept = net.with_data(ft.Dataset("rows", x, np.array([0, 9, 3, 3]), notes=("a note",))).data
    assert kept is not None and kept.notes == ("a note",)


def test_test_rows_that_are_training_rows_are_counted(tmp_path):
    x = np.arange(8.0).reshape(4, 2)
    y = np.array([0, 1, 0, 1])
    np.savez(
        tmp_path / "parts.npz",
        x_train=x,
        y_train=y,
        x_test=np.concatenate([x[1:3], x + 100]),
        y_test=np.r_[y, 0, 1],
    )
    found = data(tmp_path / "parts.npz", labels="y_test")
    assert found.notes == ("2 of 6 rows are also rows of x_train",)


# ---- Parquet ---------------------------------------------------------------------------------------------------------


def test_a_parquet_file_is_read_as_the_table_it_is(tmp_path):
    import pandas

    frame = pandas.read_csv(csv(tmp_path, IRIS))
    frame.to_parquet(tmp_path / "flowers.parquet")
    found = data(tmp_path / "flowers.parquet", labels="species")
    table_ = data(tmp_path / "data.csv", labels="species")
    assert (
        np.array_equal(found.x, table_.x)
        and found.classes == table_.classes
        and found.columns == table_.columns
    )
    assert found.y is not None and table_.y is not None and found.y.tolist() == table_.y.tolist()
    frame.assign(species=frame.species.astype("category"), whole=[3, 1, 2, 2]).iloc[
        [1, 3, 2]
    ].to_parquet(tmp_path / "indexed.parquet")
    found = data(tmp_path / "indexed.parquet", labels="species")
    assert found.x.tolist() == [[7.0, 3.2, 1], [5.9, 3.0, 2], [6.3, 3.3, 2]]
    assert found.notes == ("the index of pandas was left out",) and found.columns == (
        "length",
        "width",
        "whole",
    )


@pytest.mark.parametrize(
    "columns, part",
    [
        ({"a": [1.0, None], "b": [1, 2]}, "value is missing.*column 'a', row 1"),
        ({"a": [1.0, np.inf]}, "must be finite"),
        ({"a": ["u", "v"], "b": [1, 2]}, "holds words"),
        ({"a": [[1], [2]]}, "neither numbers nor words"),
        ({"a": []}, "no rows"),
    ],
)
def test_parquet_that_is_no_data_is_refused_with_its_place(tmp_path, columns, part):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    with pytest.raises(SubjectError, match=f"(?s){part}"):
        ft.load(tmp_path / "t.parquet")


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    import sys

    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SubjectError, match="pip install pyarrow"):
        ft.load(tmp_path / "t.parquet")
