"""Reading tables: what is understood, and the exact sentence for everything else."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import drop_columns, read_table, split_label
from spnmkl.errors import DataError


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "height,colour\n1.5,red\n2,blue\n"),
        ("t.CSV", "height,colour\r\n1.5,red\r\n2,blue\r\n"),
        ("t.tsv", "height\tcolour\n1.5\tred\n2\tblue\n"),
        ("t.csv.gz", gzip.compress(b"height,colour\n1.5,red\n2,blue\n", mtime=0)),
        ("t.csv", "\ufeffheight,colour\n1.5,red\n2,blue"),
        ("t.csv", "height;colour\n1,5;red\n2;blue\n"),
        ("t.svm.csv", "height|colour\n1.5|red\n2|blue\n"),
    ],
)
def test_tables_are_understood(tmp_path: Path, name: str, content: str | bytes) -> None:
    frame = read_table(write(tmp_path, name, content))
    assert list(frame.columns) == ["height", "colour"]
    assert frame["height"].tolist() == [1.5, 2.0]
    assert frame["colour"].tolist() == ["red", "blue"]


def test_one_honest_column_is_a_table(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "t.csv", "height\n1\n2\n")).shape == (2, 1)


def test_text_columns_are_kept_as_written(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path, "t.csv", "code,x\n01,1\n2,2\n"), text_columns=["code", "absent"])
    assert frame["code"].tolist() == ["01", "2"]


MALFORMED = [
    ("t.csv", "", "The file 't.csv' is empty; it needs a header and rows."),
    ("t.csv", "\n\n", "The file 't.csv' is empty; it needs a header and rows."),
    ("t.csv", "a,b\n", "The table 't.csv' has a header but no rows; add samples."),
    ("t.csv", "a,b,a\n1,2,3\n", "The column name 'a' stands twice in 't.csv'; rename one of them."),
    (
        "t.csv",
        ",a\n0,2\n",
        "Column 1 of 't.csv' has no name; name it, or save the table without row numbers.",
    ),
    ("t.csv.gz", "a,b\n1,2\n", "The file 't.csv.gz' is not compressed by gzip, although it ends in .gz; rename it."),
]


@pytest.mark.parametrize(("name", "content", "sentence"), MALFORMED)
def test_malformed_tables(tmp_path: Path, name: str, content: str | bytes, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        read_table(write(tmp_path, name, content))
    assert str(refused.value) == sentence


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        read_table(tmp_path / "none.csv")
    assert str(refused.value) == f"There is no file {str(tmp_path / 'none.csv')!r}; check its name and folder."
    with pytest.raises(DataError, match=r"^The file 'folder\.csv' cannot be read: Is a directory\.$"):
        (tmp_path / "folder.csv").mkdir()
        read_table(tmp_path / "folder.csv")


def test_split_label() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "id": [7, 8, 9], "y": ["a", "b", "a"]})
    features, y = split_label(frame, "y", ignore=["id"])
    assert list(features) == ["x"]
    assert y.dtype.kind == "U" and y.tolist() == ["a", "b", "a"]
    assert split_label(frame.assign(y=[0, 1, 0]), "y")[1].dtype == np.int64
    assert split_label(frame.assign(y=[0.0, 1.0, 0.0]), "y")[1].tolist() == [0, 1, 0]
    assert split_label(frame.assign(y=[True, False, True]), "y")[1].dtype == bool


LABELS = [
    (["a", None, "b"], "The label 'y' is missing in 1 row; fill these rows or drop them."),
    ([0.5, 1, 1], "The label 'y' holds fractions, such as 0.5; classes must be text or whole numbers."),
    (["a", "a", "a"], "The label 'y' is 'a' in every row; two classes are needed."),
    (
        [1, 2, 3],
        "The label 'y' is different in each of 3 rows; choose the column that holds the classes.",
    ),
]


@pytest.mark.parametrize(("values", "sentence"), LABELS)
def test_unusable_labels(values: list[object], sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        split_label(pd.DataFrame({"x": [1, 2, 3], "y": values}), "y")
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["heigth"], "There is no column 'heigth'; the closest name is 'height'."),
        (["zzz"], "There is no column 'zzz'; the columns are 'height', 'y'."),
        (["height", "y"], "No column is left besides 'height', 'y'; add columns to learn from."),
    ],
)
def test_columns_that_cannot_be_dropped(names: list[str], sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        drop_columns(pd.DataFrame({"height": [1], "y": ["a"]}), names)
    assert str(refused.value) == sentence
