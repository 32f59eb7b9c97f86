"""Broken and hostile files: one clear sentence or plain text, nothing executed, nothing unbounded."""

import gzip
import io
import pickle
import re
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from spnmkl.data import Dataset, ReadOptions, formats, problems, read_file, summarize, unpacking, workbook
from spnmkl.errors import DataError


def xlsx(*rows: list[object]) -> bytes:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def laughing(part: str, encoding: str = "utf-8") -> bytes:
    """A workbook in which a part has an entity that stands for 10⁹ letters."""
    entities = "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 10))
    head = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [<!ENTITY a0 "a">{entities}]>'
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(xlsx(["a"], ["text"]))) as good, zipfile.ZipFile(file, "w") as bad:
        for member in good.namelist():
            text = good.read(member).decode()
            if member == part:
                text = head + re.sub(r"^<\?xml.*?\?>", "", text).replace(">text<", ">&a9;<")
            bad.writestr(member, text.encode(encoding if member == part else "utf-8"))
    return file.getvalue()


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **{name: np.asarray(array) for name, array in arrays.items()})
    return file.getvalue()


def mat(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    savemat(file, arrays, do_compression=True)
    return file.getvalue()


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pd.DataFrame(columns or {"a": [1, 2]}).to_parquet(file)
    return file.getvalue()


def zipped(member: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return file.getvalue()


def lying_npy() -> bytes:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header + b"\0" * 80


class Evil:
    """Unpickling it would be heard of."""

    def __reduce__(self) -> tuple[object, ...]:
        return print, ("executed",)


DAMAGED = "is damaged or cut short; save or copy"
ONE_MB = 2**20

# Name, content, the sentence.
REFUSED: list[tuple[str, Callable[[], bytes], str]] = [
    (
        "t.xlsx",
        lambda: xlsx(["a"], [1])[:4] + xlsx(["a"], [1])[5:],  # places of members before the beginning
        "The file 't.xlsx' is damaged or cut short; save or copy the workbook again.",
    ),
    ("t.csv", lambda: b"", "The file 't.csv' is empty; it needs a header and rows."),
    ("t.csv", lambda: b" \r\n\n", "The file 't.csv' is empty; it needs a header and rows."),
    ("t.csv", lambda: b"a,b\n", "The table 't.csv' has a header but no rows; add samples."),
    (
        "t.csv",
        lambda: b"a,b\n1,2\n1,2,3\n",
        "The table 't.csv' cannot be read: Expected 2 fields in line 3, saw 3; repair that line, or choose another "
        "separator.",
    ),
    (
        "t.csv",
        lambda: b"a,b\n1,2,3,4\n1,2,3,4\n",
        "The rows of 't.csv' have 4 values, but its header has 2 names; repair the header, or choose another "
        "separator.",
    ),
    (
        "t.csv",
        lambda: b'a,b\n"1,2\n3,4\n',
        "The table 't.csv' cannot be read: EOF inside string starting at row 1; repair that line, or choose another "
        "separator.",
    ),
    (
        "t.csv",
        lambda: b"a,b\n1,\x002\n",
        "The file 't.csv' holds NUL characters, so it is no text table; save it as CSV.",
    ),
    (
        "t.csv",
        lambda: b"x,y\n" + b"1" * 200_000 + b",a\n",
        "The table 't.csv' holds a value of more than 131,072 characters; shorten it.",
    ),
    (
        "t.csv",
        lambda: b",".join([b"c"] * 10**6) + b"\n" + b",".join([b"1"] * 10**6),
        "The table 't.csv' has 1,000,000 columns; at most 100,000 can be read: leave some out.",
    ),
    (
        "t.csv",
        lambda: b",".join([b"c"] * 1000) + b"\n" * 60_000 + b"1",
        "The table 't.csv' has 60,000 × 1,000 values; at most 50,000,000 can be read: leave out rows or columns.",
    ),
    ("t.csv.gz", lambda: gzip.compress(b"a,b\n1,2\n" * 99)[:-12], f"The file 't.csv.gz' {DAMAGED} the file again."),
    (
        "t.csv.gz",
        lambda: gzip.compress(gzip.compress(b"a\n1")),
        "The file 't.csv.gz' is compressed twice; unpack it once.",
    ),
    ("t.xlsx", lambda: xlsx(["a"], [1])[:-100], f"The file 't.xlsx' {DAMAGED} the file again."),
    ("t.xlsx", lambda: xlsx(["a"], [1])[:99], f"The file 't.xlsx' {DAMAGED} the file again."),
    ("t.xlsx", lambda: zipped("xl/workbook.xml", b"<!DOCTYPE x"), f"The file 't.xlsx' {DAMAGED} the workbook again."),
    (
        "t.xlsx",
        lambda: b"a,b\n1,2",
        "The file 't.xlsx' is not an Excel workbook, although it ends in .xlsx; save it again.",
    ),
    ("t.xlsx", lambda: xlsx(), "The workbook 't.xlsx' has no cells in it; fill in a header and rows."),
    (
        "t.xls",
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 ",
        "The file 't.xls' is in the old Excel format; save it as .xlsx.",
    ),
    (
        "t.zip",
        lambda: zipped("t.csv", b"a,b\n1,2"),
        "The file 't.zip' is a zip archive; unpack it, and choose the files in it.",
    ),
    ("t.parquet", lambda: parquet()[:-30], f"The file 't.parquet' {DAMAGED} the file again."),
    (
        "t.parquet",
        lambda: b"a,b",
        "The file 't.parquet' is not a Parquet file, although it ends in .parquet; save it again.",
    ),
    (
        "t.arff",
        lambda: b"@relation r\n@attribute a numeric\n@data\nx\n",
        "The file 't.arff' cannot be read as ARFF: line 4 has 'x' in 'a', which is a column of numbers; repair it.",
    ),
    (
        "t.arff",
        lambda: b"@relation r\n@attribute a numeric\n@data\n",
        "The table 't.arff' has a header but no rows; add samples.",
    ),
    (
        "t.svm",
        lambda: b"a b c\n",
        "The file 't.svm' cannot be read as LIBSVM text: could not convert string to float: b'a'; each line must read "
        "'label index:value index:value ...'.",
    ),
    (
        "t.svm",
        lambda: b"1 999999999:1\n-1 2:1\n",
        "The table 't.svm' has 999,999,999 columns; at most 100,000 can be read: leave some out.",
    ),
    (
        "k.npz",
        lambda: npz(K=np.array([Evil()], dtype=object)),
        "The file 'k.npz' holds Python objects, which are never loaded since they could run code; save arrays of "
        "numbers or text.",
    ),
    ("k.npz", lambda: npz(K=np.eye(3))[:-40], f"The file 'k.npz' {DAMAGED} the file again."),
    ("k.npz", lambda: zipped("K.npy", b""), f"The file 'k.npz' {DAMAGED} the file again."),
    (
        "k.npz",
        lambda: zipped("K.npy", lying_npy()),
        f"The file 'k.npz' {DAMAGED} the file again.",
    ),
    (
        "k.npz",
        lambda: npz(K=np.eye(3), L=np.eye(4)),
        "The matrices in 'k.npz' are of different sizes: 'K' is 3 × 3, 'L' is 4 × 4; save matrices over the same "
        "samples.",
    ),
    (
        "k.npz",
        lambda: npz(X=np.ones((3, 2))),
        "The file 'k.npz' holds no square matrix of numbers; save kernel matrices of n × n, each under its name.",
    ),
    ("k.mat", lambda: mat(K=np.eye(30))[:-20], f"The file 'k.mat' {DAMAGED} the file again."),
    ("k.mat", lambda: b"no such thing" * 20, f"The file 'k.mat' {DAMAGED} the file again."),
    (
        "k.mat",
        lambda: b"MATLAB 7.3 MAT-file".ljust(600),
        "The file 'k.mat' is in MATLAB's format 7.3; save it with save(..., '-v7').",
    ),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml"])
def test_entities_in_a_workbook_are_refused_before_they_unfold(part: str, encoding: str) -> None:
    with pytest.raises(DataError, match=r"^The workbook 't\.xlsx' declares entities, which may unfold without bound"):
        read_file("t.xlsx", laughing(part, encoding))


@pytest.mark.parametrize(("name", "content", "sentence"), REFUSED)
def test_refused_with_one_sentence(
    name: str, content: Callable[[], bytes], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = content()
    started = time.process_time()
    with pytest.raises(DataError) as refused:
        read_file(name, data)
    assert str(refused.value) == sentence
    assert time.process_time() - started < 10
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv.gz", gzip.compress(b"0" * 2 * ONE_MB) * 3),
        ("t.xlsx", zipped("xl/workbook.xml", b"0" * 6 * ONE_MB)),
        ("k.npz", zipped("K.npy", b"0" * 6 * ONE_MB)),
        ("k.mat", mat(K=np.zeros((600, 600)), L=np.zeros((600, 600)))),
        ("k.npz", npz(K=np.zeros((900, 900), dtype=np.uint8))),
        ("t.xlsx", xlsx(["a"], *[["x" * 20_000]] * 100)),
        ("t.parquet", parquet(a=["x" * 10_000, "y"] * 1100)),
        ("t.parquet", parquet(a=pd.Categorical(["x" * 10_000, "y"] * 1100))),
    ],
)
def test_bombs_of_every_kind(name: str, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_UNPACKED", 5 * ONE_MB)
    assert len(content) < 6 * ONE_MB
    tracemalloc.start()
    with pytest.raises(DataError) as refused:
        read_file(name, content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(refused.value) == f"The file {name!r} unpacks to more than 5 MB; make it smaller."
    assert peak < 10 * ONE_MB


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"separator": ",,"}, "The separator must be one character such as , or ;, but it is ',,'."),
        ({"decimal": "'"}, 'The decimal sign must be a point or a comma, but it is "\'".'),
        ({"encoding": "klingon"}, "There is no encoding 'klingon'; try utf-8, utf-16 or cp1252."),
        (
            {"encoding": "utf-8"},
            "The table 't.csv' is not encoded in utf-8: byte 5 does not fit; choose another encoding.",
        ),
        ({"encoding": "hex"}, "The table 't.csv' is not encoded in hex; choose another encoding."),
    ],
)
def test_corrections_that_do_not_fit(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        read_file("t.csv", b"a,b\n\xff,2,3\n", ReadOptions(**options))  # type: ignore[arg-type]
    assert str(refused.value) == sentence


def test_large_files_and_workbooks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_FILE", 2 * ONE_MB)
    with pytest.raises(DataError, match=r"^The file 't\.csv' has 3 MB; at most 2 MB can be read\.$"):
        read_file("t.csv", b"1" * 3 * ONE_MB)
    monkeypatch.setattr(workbook, "MAX_CELLS", 100)
    with pytest.raises(DataError, match=r"^The workbook 't\.xlsx' has more than 100 cells; save the sheet as CSV\.$"):
        read_file("t.xlsx", xlsx(*[[1] * 20] * 20))


def test_a_cell_far_away_takes_no_memory() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"], sheet["A1048576"] = "a", 3
    file = io.BytesIO()
    book.save(file)
    assert read_file("t.xlsx", file.getvalue()).frame["a"].tolist() == [3]


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "x" * 10_000, "'\"; DROP TABLE", "=1+1", "🧬 β₁ \\", "{{7*7}}", "../../etc/passwd"],
)
def test_odd_names_and_values_are_plain_text(name: str) -> None:
    data = f'"{name.replace(chr(34), chr(34) * 2)}",y\n=1+1,u\n@SUM(A1),v\n'.encode()
    frame = read_file("t.csv", data).frame
    assert list(frame) == [name, "y"]
    assert frame[name].tolist() == ["=1+1", "@SUM(A1)"]


def test_sentences_cut_long_names() -> None:
    with pytest.raises(DataError) as refused:
        read_file("n" * 10_000, b"")
    assert len(str(refused.value)) < 150


def test_many_equal_names_are_numbered_at_once() -> None:
    data = b",".join([b"a"] * 20_000) + b"\n" + b",".join([b"1"] * 20_000) + b"\n"
    started = time.process_time()
    table = read_file("t.csv", data)
    assert table.frame.columns[-1] == "a (20000)" and table.frame.columns.is_unique
    assert time.process_time() - started < 10


def test_bytes_at_random_never_escape_as_another_error() -> None:
    rng = np.random.default_rng(0)
    originals = [xlsx(["a", "b"], [1, 2]), parquet(), npz(K=np.eye(3)), mat(K=np.eye(3)), gzip.compress(b"a,b\n1,2\n")]
    for original in originals:
        for _ in range(40):
            data = bytearray(original)
            for position in rng.integers(0, len(data), 4):
                data[position] = rng.integers(256)
            with suppress(DataError):
                read_file("t.csv", bytes(data))


TOKENS = [*"abxy019.,;\t| \"'+-?\n\r", "1,5", "NA", "label", "id", "S1", "1e400", "inf", "007", "True", "é", "\u2028"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60).map("".join))
def test_text_at_random_is_a_table_or_a_sentence(text: str) -> None:
    with suppress(DataError):
        table = read_file("t.csv", text.encode())
        assert table.frame.columns.is_unique and all(table.frame.columns)
        dataset = Dataset.guess("d", table.frame)
        assert len(summarize(dataset)) == table.frame.shape[1]
        problems(dataset)


def test_pickles_are_text_at_most() -> None:
    with pytest.raises(DataError):
        read_file("t.csv", pickle.dumps(Evil()))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", [0, 8, 10, 14, 16, 19, 200])
def test_numbers_of_a_type_that_has_none_do_not_reach_scipy(kind: int, compressed: bool) -> None:
    """Which would look for it where its list has nothing, and take the process with it."""
    file = io.BytesIO()
    savemat(file, {"K": np.eye(3) * 1j})
    data = file.getvalue()
    assert formats.read_mat("k.mat", data)["K"].dtype == complex
    last = data.rindex(struct.pack("<II", 9, 72))  # where the imaginary numbers begin
    data = b"Matlab" + data[6:last] + struct.pack("<I", kind) + data[last + 4 :]  # its first words are nobody's
    if compressed:
        packed = zlib.compress(data[128:])
        data = data[:128] + struct.pack("<II", 15, len(packed)) + packed
    with pytest.raises(DataError, match=r"^The file 'k\.mat' is damaged or cut short"):
        formats.read_mat("k.mat", data)
