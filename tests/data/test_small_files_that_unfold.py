"""Files of a megabyte or less that would unfold to gigabytes, or to minutes: refused before they do."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import read_file, workbook
from spnmkl.errors import DataError

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from unfolding import FILES, Reading, empty_sheets, measured

MOST_MEMORY = 500_000_000  # of the whole process, with the package in it
MOST_SECONDS = 10.0  # of processor; 5 on a machine that is not slowed down


@pytest.fixture(scope="module")
def readings() -> dict[str, Reading]:
    for library in ("openpyxl", "pyarrow.parquet"):
        pytest.importorskip(library)
    return measured({name: content for name, (content, _) in FILES.items()})


@pytest.mark.parametrize("name", FILES)
def test_it_ends_soon_and_within_memory(name: str, readings: dict[str, Reading]) -> None:
    found = readings[name]
    assert FILES[name][1] in found.said
    assert found.memory < MOST_MEMORY, f"{found.memory / 1e6:.0f} MB"
    assert found.seconds < MOST_SECONDS, f"{found.seconds:.1f} s"


def test_the_cells_of_empty_sheets_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(workbook, "MAX_CELLS", 1000)
    with pytest.raises(DataError, match=r"^The workbook 't\.xlsx' has more than 1,000 cells; save the sheet as CSV\.$"):
        read_file("t.xlsx", empty_sheets(6, 20, 10))
    with pytest.raises(DataError, match=r"^The workbook 't\.xlsx' has no cells in it; fill in a header and rows\.$"):
        read_file("t.xlsx", empty_sheets(3, 20, 10))


def test_what_compresses_well_is_still_read() -> None:
    frame = pd.DataFrame(np.eye(3000, 400, dtype=int), columns=[f"c{k}" for k in range(400)])
    data = gzip.compress(frame.to_csv(index=False).encode())
    assert len(data) < 100_000 and read_file("t.csv.gz", data).frame.equals(frame)


@pytest.mark.parametrize("header", ["\"'a,y", "x,\"'", 'x",y', '"x y'])
def test_a_quotation_mark_that_nothing_closes_is_a_letter_of_a_name(header: str) -> None:
    frame = read_file("t.csv", f"{header}\n1,2\n3,4\n5,6\n".encode()).frame if "," in header else None
    if frame is None:
        assert list(read_file("t.csv", f"{header}\n1\n2\n".encode()).frame) == [header]
    else:
        assert list(frame) == header.split(",") and frame.to_numpy().tolist() == [[1, 2], [3, 4], [5, 6]]


ARFF = r"""% a comment
@RELATION 'a relation'   % another
@attribute   'a b'   NUMERIC
@Attribute "q\"u" {x, 'y z' ,"it's",'it\'s, so'} % what it may be
@attribute n integer
@attribute s string
@attribute d date "yyyy-MM-dd"

@DATA
% rows
1.5, x, 3, 'a, b', 2020-01-01
?,'y z',?,?,?
-2e3 ,"it's",7,"?", '2020'  % the end
1	'it\'s, so'	1	\n	2021
"""


def test_arff_as_people_write_it() -> None:
    frame = read_file("t.arff", ARFF.encode()).frame
    assert list(frame) == ["a b", 'q"u', "n", "s", "d"]
    assert frame["a b"].tolist()[::2] == [1.5, -2000] and np.isnan(frame["a b"][1])
    assert frame['q"u'].tolist() == ["x", "y z", "it's", "it's, so"]
    assert frame["n"].fillna(-1).tolist() == [3, -1, 7, 1]
    assert frame["s"].tolist()[::2] == ["a, b", "?"] and frame["d"].tolist()[2] == "2020"
    assert frame["s"].isna().tolist() == [False, True, False, False]


def test_sparse_arff() -> None:
    head = "@relation r\n@attribute a numeric\n@attribute c {x,'y z'}\n@attribute n integer\n@data\n"
    frame = read_file("t.arff", f"{head}{{0 5, 1 'y z'}}\n{{ }}\n{{1 x,2 ?}}\n{{ 2 4 }}\n".encode()).frame
    assert frame["a"].tolist() == [5, 0, 0, 0] and frame["c"].tolist() == ["y z", "x", "x", "x"]
    np.testing.assert_array_equal(frame["n"], [0, 0, np.nan, 4])


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("@data\n1", "line 2 begins the data, but no @attribute stands above it"),
        ("@attribute a numeric", "line 2 is the last, and there is no @data"),
        (
            "@attribute a relational\n@data\n1",
            "line 2 gives 'a' the type 'relational', which is none of numeric, string, {…}",
        ),
        ("@attribute a\n@data\n1", "line 2 needs a name and a type after @attribute"),
        ("@attribute 'a numeric\n@data\n1", "line 2 opens a quotation mark and does not close it"),
        ("@attribute a {x} y\n@data\nx", "line 2 has 'y' behind its list of values"),
        ("@attribute a numeric\n@data\n1\n\n1,2", "line 6 has 2 values, but there are 1 attribute"),
        ("@attribute a numeric\n@data\n1\n1_0", "line 5 has '1_0' in 'a', which is a column of numbers"),
        ("@attribute a {x,y}\n@data\nx\n% z\nz", "line 6 has 'z', which is no value of 'a'"),
        ("@attribute a string\n@data\n'x", "line 4 opens a quotation mark and does not close it"),
        ("@attribute a string\n@data\n'x' y", "line 4 has 'y' behind a quoted value"),
        ("@attribute a numeric\n@data\n{0 1}\n1", "line 5 is not sparse, but the rows above it are"),
        ("@attribute a numeric\n@data\n1\n{0 1}", "line 5 is sparse, but the rows above it are not"),
        ("@attribute a numeric\n@data\n{1 1}", "line 4 is no sparse row of 1 attribute, such as {0 1.5, 1 2}"),
        ("@attribute a numeric\n@data\n{0 1", "line 4 opens a sparse row with {, but does not close it with }"),
        ("x", "line 2 is 'x', where @attribute or @data was expected"),
    ],
)
def test_arff_that_cannot_be_read_names_the_line(lines: str, reason: str) -> None:
    with pytest.raises(DataError) as refused:
        read_file("t.arff", f"@relation r\n{lines}\n".encode())
    assert str(refused.value) == f"The file 't.arff' cannot be read as ARFF: {reason}; repair it."
