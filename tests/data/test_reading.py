"""Uploaded files: what is guessed, what can be corrected, every format, and large tables."""

import gzip
import io
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from spnmkl.data import Dataset, ReadOptions, guess_options, problems, read_file, summarize
from spnmkl.errors import DataError

MESSY = "\ufeffname;größe;farbe;art\r\nA;1,5;rot;ja\r\nB;NA;?;nein\r\nC;-2,5e1;grün;ja\r\nD;0,25;;nein\r\n"


def test_a_messy_table() -> None:
    table = read_file("messy.csv", MESSY.encode("utf-8"))
    assert (table.options.separator, table.options.decimal, table.options.encoding) == (";", ",", "utf-8-sig")
    assert list(table.frame) == ["name", "größe", "farbe", "art"]
    np.testing.assert_array_equal(table.frame["größe"], [1.5, np.nan, -25, 0.25])
    assert table.frame["farbe"].isna().tolist() == [False, True, False, True]
    assert table.notes == (
        "Values are separated by semicolons, with decimal commas.",
        "3 values missing, in 2 columns.",
    )
    dataset = Dataset.guess("messy", table.frame)
    assert (dataset.label, dataset.ignored, dataset.classes.tolist()) == ("art", ("name",), ["ja", "nein"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-8"])
def test_encodings(encoding: str) -> None:
    table = read_file("messy.csv", MESSY.removeprefix("\ufeff").encode(encoding))
    assert table.options.encoding == encoding
    assert table.frame["farbe"].tolist()[2] == "grün"


# What stands in the file, what is guessed differently from the defaults, the columns.
GUESSES = [
    ("a,b,y\n1,2,u\n3,4,v\n", {}, ["a", "b", "y"]),
    ("a\tb\n1\t2\n", {"separator": "\t"}, ["a", "b"]),
    ("a|b\n1|2\n", {"separator": "|"}, ["a", "b"]),
    ("a  b   c\n1  2   0\n3 4 1\n", {"separator": " "}, ["a", "b", "c"]),
    ("a;b\n1,5;2,5\n", {"separator": ";", "decimal": ","}, ["a", "b"]),
    ("1,5;2,5\n3,5;4\n", {"separator": ";", "decimal": ",", "header": False}, ["c1", "c2"]),
    ('a,b\n"1,5","2,5"\n', {"decimal": ","}, ["a", "b"]),
    ('a,b\n"1,500",2\n', {}, ["a", "b"]),
    ("1,2,u\n3,4,v\n", {"header": False}, ["c1", "c2", "c3"]),
    ("0,1,2,3\n5,6,7,8\n", {}, ["0", "1", "2", "3"]),
    ("id,7157,672\ns1,5,6\n", {}, ["id", "7157", "672"]),
    ("p,x,s\ne,x,s\np,b,y\ne,x,y\n", {"header": False}, ["c1", "c2", "c3"]),
    ("party,v1,v2\nr,n,y\nd,y,n\n", {}, ["party", "v1", "v2"]),
    ("words\nhello world\ntwo words\n", {}, ["words"]),
    ("\n\na,b\n1,2\n", {}, ["a", "b"]),
    ('"a\nb",c\n1,2\n', {}, ["a b", "c"]),
    ("a,b\n1,2,\n3,4,\n", {}, ["a", "b"]),
    ("a,b\nr1,1,2\nr2,3,4\n", {}, ["id", "a", "b"]),
    (",a,a\n0,1,2\n1,3,4\n", {}, ["id", "a", "a (2)"]),
    ("a,a,a (2),,id\n1,2,3,4,5\n", {}, ["a", "a (3)", "a (2)", "c4", "id"]),
    ("a,b,c\n1,2\n1,2,3\n", {}, ["a", "b", "c"]),
    ("code,x\n007,01\n012,02\n", {"text": ("code",)}, ["code", "x"]),
    ("a,b\n0,00\n1,00\n", {}, ["a", "b"]),
    ("a , b , y \n1 , 2 , yes \nNA , 3 , no \n", {}, ["a", "b", "y"]),
    ("gene,S1,S2,S3\ng1,1,2,3\ng2,4,5,6\ng3,7,8,9\n", {"transpose": True}, ["id", "g1", "g2", "g3"]),
    ("x,n1,n2\ng1,1,2\ng2,3,4\nclass,u,v\n", {"transpose": True}, ["id", "g1", "g2", "class"]),
    ("country,x1,x2\nFrance,1,2\nItaly,4,5\nPeru,7,8\n", {}, ["country", "x1", "x2"]),
    ("vote,x,z\ny,1,2\nn,3,4\ny,5,6\n", {}, ["vote", "x", "z"]),
    ('# made by "x\n#\n\n# units, cm\na,b\n1,2\n', {"skip": 4}, ["a", "b"]),
    ("# note\n#a,b\n1,2\n", {"skip": 1}, ["#a", "b"]),
    ("Export of May\n\nid;x;y\na;1,5;u\n", {"skip": 2, "separator": ";", "decimal": ","}, ["id", "x", "y"]),
    ("Clinic, north\na,b,c,d\n1,2,3,4\n", {"skip": 1}, ["a", "b", "c", "d"]),
    ("#a\tb\n1\t2\n", {"separator": "\t"}, ["#a", "b"]),
    ("# note; one\n\na;b\n1,5;2\n", {"skip": 1, "separator": ";", "decimal": ","}, ["a", "b"]),
]


@pytest.mark.parametrize(("text", "guessed", "columns"), GUESSES)
def test_guesses(text: str, guessed: dict[str, object], columns: list[str]) -> None:
    table = read_file("t.csv", text.encode())
    assert table.options == replace(ReadOptions(), **guessed)  # type: ignore[arg-type]
    assert guess_options("t.csv", text.encode()) == table.options
    assert list(table.frame) == columns


def test_space_around_cells_is_no_part_of_them() -> None:
    frame = read_file("t.csv", b"a , b , y \n1 , 2 , yes \nNA , 3 , no \n").frame
    assert frame["y"].tolist() == ["yes", "no"]
    np.testing.assert_array_equal(frame[["a", "b"]], [[1, 2], [np.nan, 3]])


def test_plus_and_minus_are_classes() -> None:
    assert read_file("t.csv", b"a,y\n1,-\n2,-\n3,+\n").frame["y"].tolist() == ["-", "-", "+"]
    assert read_file("t.csv", b"a,y\n1,-\n2,u\n").frame["y"].isna().tolist() == [True, False]


def test_every_guess_can_be_corrected() -> None:
    data = b"a;b\n1;-9\n2;x\n"
    assert read_file("t.csv", data).frame["b"].tolist() == ["-9", "x"]
    frame = read_file("t.csv", data, ReadOptions(";", missing=("-9", "x"))).frame
    assert frame["b"].isna().all()
    assert read_file("t.csv", data, ReadOptions(",")).frame.shape == (2, 1)
    assert read_file("t.csv", data, ReadOptions(";", header=False)).frame.shape == (3, 2)
    turned = read_file("t.csv", b"f,u,v\nx,1,\ny,3,4\n", ReadOptions(transpose=True)).frame
    assert turned.to_dict("list") == {"id": ["u", "v"], "x": [1, pytest.approx(np.nan, nan_ok=True)], "y": [3, 4]}
    assert read_file("t.csv", b"c,x\n01,1\n2,2\n", ReadOptions(text=("c",))).frame["c"].tolist() == ["01", "2"]


def test_lines_above_the_table_are_skipped() -> None:
    data = b"Export, 3 May\nclinic's \"north\n\nid;x;y\na;1,5;u\nb;2,5;v\n"
    options = guess_options("t.csv", data, skip=3)
    assert (options.skip, options.separator, options.decimal) == (3, ";", ",")
    table = read_file("t.csv", data, options)
    assert table.frame.to_dict("list") == {"id": ["a", "b"], "x": [1.5, 2.5], "y": ["u", "v"]}
    assert "3 lines above the table skipped, such as 'Export, 3 May'." in table.notes
    assert table.beginning.splitlines()[3] == "id;x;y"
    with pytest.raises(DataError, match=r"Nothing of 't\.csv' is left below the 9 lines that are skipped; skip fewer"):
        read_file("t.csv", data, replace(options, skip=9))
    with pytest.raises(DataError, match="line 7"):
        read_file("t.csv", data + b"c;1;2;3;4\n", options)
    with pytest.raises(DataError, match="must be 0 or more, but it is -1"):
        ReadOptions(skip=-1)


def test_titles_above_a_workbooks_table_are_skipped() -> None:
    file = io.BytesIO()
    pd.DataFrame([["Report", None], ["a", "b"], [1, 2], [3, 4]]).to_excel(file, index=False, header=False)
    table = read_file("t.xlsx", file.getvalue(), guess_options("t.xlsx", file.getvalue(), skip=1))
    assert table.frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_turning_keeps_numbers_and_text_apart() -> None:
    data = b"f;s1;s2;s3\nx;1,5;2;NA\nclass;u;v;u\nz;3;4;5\n"
    frame = read_file("t.csv", data).frame
    assert list(frame) == ["id", "x", "class", "z"]
    assert frame["id"].tolist() == ["s1", "s2", "s3"] and frame["class"].tolist() == ["u", "v", "u"]
    np.testing.assert_array_equal(frame[["x", "z"]].astype(float), [[1.5, 3], [2, 4], [np.nan, 5]])


def bytes_of(frame: pd.DataFrame, kind: str) -> bytes:
    file = io.BytesIO()
    if kind == "xlsx":
        frame.to_excel(file, index=False)
    elif kind == "parquet":
        frame.to_parquet(file)
    else:
        return frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",").encode()
    return file.getvalue()


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx", "parquet"])
def test_formats_of_tables_agree(kind: str) -> None:
    frame = pd.DataFrame({"x": [1.5, None, 3.0], "n": [1, 2, 3], "c": ["u", "v, w", None], "y": ["a", "b", "a"]})
    table = read_file(f"t.{kind}", bytes_of(frame, kind))
    # None and nan are the same gap.
    pd.testing.assert_frame_equal(table.frame.fillna(np.nan), frame.fillna(np.nan), check_dtype=False)
    assert table.notes[-1] == "2 values missing, in 2 columns."
    assert read_file("misnamed.csv", bytes_of(frame, kind)).frame.shape == (3, 4)


def test_workbooks_have_sheets_and_formulas_are_not_run() -> None:
    file = io.BytesIO()
    with pd.ExcelWriter(file) as book:
        pd.DataFrame().to_excel(book, sheet_name="empty", index=False)
        pd.DataFrame({"a": [1, 2], "f": ["=1+1", "x"]}).to_excel(book, sheet_name="first", index=False)
        pd.DataFrame({"b": ["1,5", "?"]}).to_excel(book, sheet_name="second", index=False)
    table = read_file("t.xlsx", file.getvalue())
    assert (table.options.sheet, table.sheets) == ("first", ("empty", "first", "second"))
    assert table.notes[0] == "Sheet 'first' of 'empty', 'first', 'second' was read."
    assert table.frame["f"].isna().tolist() == [True, False]
    other = read_file("t.xlsx", file.getvalue(), replace(table.options, sheet="second", decimal=",")).frame
    np.testing.assert_array_equal(other["b"], [1.5, np.nan])
    assert guess_options("t.xlsx", file.getvalue()).sheet == "first"
    with pytest.raises(
        DataError, match=r"^'t\.xlsx' has no sheet 'third'; its sheets are 'empty', 'first', 'second'\.$"
    ):
        read_file("t.xlsx", file.getvalue(), ReadOptions(sheet="third"))


def test_parquet_of_other_types() -> None:
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["u", "v"]),
            "d": pd.to_datetime(["2020-01-01", None]),
            "b": pd.array([True, None], dtype="boolean"),
            "l": [[1], [2]],
        },
        index=pd.Index(["s1", "s2"], name="id"),
    )
    table = read_file("t.parquet", bytes_of(frame, "parquet"))
    assert list(table.frame) == ["id", "c", "d", "b"]
    assert table.frame["c"].tolist() == ["u", "v"] and table.frame["d"].iloc[0].startswith("2020-01-01")
    assert table.notes[0] == "Columns that hold neither numbers nor text were left out: 'l'."


def test_parquet_with_lists_and_records_and_gaps() -> None:
    frame = pd.DataFrame({"x": [{"y": 1}, None], "s": ["u", None], "e": pd.Series([None, None], dtype="str")})
    table = read_file("t.parquet", bytes_of(frame.assign(l=[["a"], []]), "parquet"))
    assert list(table.frame) == ["s", "e"] and table.frame["s"].isna().tolist() == [False, True]
    assert table.notes[0] == "Columns that hold neither numbers nor text were left out: 'l', 'x'."


def test_arff() -> None:
    text = "% comment\n@relation r\n@attribute 'a b' numeric\n@attribute c {x,'y z'}\n@data\n1,x\n?,'y z'\n"
    frame = read_file("t.arff", text.encode()).frame
    assert list(frame) == ["a b", "c"] and frame["c"].tolist() == ["x", "y z"] and frame["a b"].isna().sum() == 1
    sparse = "@relation r\n@attribute a numeric\n@attribute c {x,y}\n@data\n{0 5}\n{1 y}\n"
    assert read_file("t.arff.gz", gzip.compress(sparse.encode())).frame.to_dict("list") == {
        "a": [5, 0],
        "c": ["x", "y"],
    }


@pytest.mark.parametrize("name", ["t.svm", "t.txt", "t.libsvm"])
def test_svmlight(name: str) -> None:
    file = io.BytesIO()
    X = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 3]])
    dump_svmlight_file(X, [1, -1, 1], file, zero_based=False)
    frame = read_file(name, file.getvalue()).frame
    assert list(frame) == ["label", "f1", "f2", "f3"] and frame["label"].tolist() == [1, -1, 1]
    np.testing.assert_array_equal(frame.iloc[:, 1:], X)
    assert Dataset.guess("s", frame).label == "label"


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_kernel_matrices(kind: str) -> None:
    file, arrays = io.BytesIO(), {"K1": np.eye(4), "K2": np.ones((4, 4)), "y": np.array([1, 1, 2, 2]), "t": np.ones(3)}
    np.savez(file, **arrays) if kind == "npz" else savemat(file, arrays, do_compression=True)
    table = read_file(f"k.{kind}", file.getvalue())
    assert list(table.matrices) == ["K1", "K2"] and table.frame["y"].tolist() == [1, 1, 2, 2]
    assert table.notes == ("Arrays that are no 4 × 4 matrix were left out: 't'.",)
    dataset = Dataset.guess("k", table.frame, table.matrices)
    assert dataset.label == "y" and dataset.features == () and problems(dataset) == []
    assert dataset.template("flat").formula(latex=False) == "K = β_K1 K_K1 + β_K2 K_K2"
    assert dataset.take(np.array([0, 2])).matrices["K1"].tolist() == [[1, 0], [0, 1]]


def test_settings_say_what_can_be_corrected() -> None:
    tables = [read_file("a.csv", b"x,y\n1,2\n"), read_file("b.svm", b"1 1:2\n")]
    assert tables[0].settings == ("skip", "separator", "decimal", "encoding", "header", "missing", "transpose")
    assert tables[1].settings == ()
    assert [table.view for table in (*tables, read_file("mrna.csv.gz", gzip.compress(b"x,y\n1,2\n")))] == [
        "a",
        "b",
        "mrna",
    ]


CELLS = np.random.default_rng(0).choice([f"{k / 50:.2f}" for k in range(-50, 50)], size=(150, 20_000)).astype(object)
IDS, GENES = [f"S{k:03}" for k in range(150)], [f"gene{k}" for k in range(20_000)]


def as_csv(names: list[str], cells: np.ndarray, header: list[str]) -> bytes:
    return "\n".join(
        [",".join(header), *(",".join([name, *row]) for name, row in zip(names, cells, strict=True))]
    ).encode()


def test_a_wide_table_is_read_and_described_in_seconds() -> None:
    labels = np.array([["u"], ["v"]] * 75, dtype=object)
    data = as_csv(IDS, np.hstack([CELLS, labels]), ["id", *GENES, "label"])
    started = time.process_time()
    table = read_file("wide.csv", data)
    dataset = Dataset.guess("wide", table.frame)
    read = time.process_time()
    summary = summarize(dataset)
    described = time.process_time()
    problems(dataset)
    assert (dataset.label, dataset.ignored, len(dataset.numeric)) == ("label", ("id",), 20_000)
    assert len(summary) == 20_002 and all(sum(bars) == 150 for bars in summary["histogram"].iloc[1:-1])
    assert read - started < 10 and described - read < 2


def test_a_wide_table_with_samples_as_columns() -> None:
    table = read_file("turned.csv", as_csv(GENES, CELLS.T, ["gene", *IDS]))
    assert table.options.transpose
    assert list(table.frame) == ["id", *GENES] and table.frame["id"].tolist() == IDS
    np.testing.assert_array_equal(table.frame.iloc[:, 1:5], CELLS[:, :4].astype(float))


def test_real_tables_are_understood() -> None:
    folder = Path(__file__).parents[2].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the collection of public data sets is not here")
    for path in sorted(folder.glob("*.csv*")):
        if os.path.getsize(path) < 2**20:
            table = read_file(path.name, path.read_bytes())
            dataset = Dataset.guess(path.name, table.frame)
            assert dataset.label == "label" and not table.options.transpose and len(dataset.classes) > 1, path.name
