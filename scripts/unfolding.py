"""What reading files takes that are small and unfold to gigabytes, or to minutes: ``python scripts/unfolding.py``.

Each is read in a process of its own. Beside those that are refused stand workbooks as large as people have them.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from reliability import circumstances, put, table

# One process with the package in it forks one child a file, so that what each takes is measured alone.
CHILD = """
import json, os, sys
from spnmkl.data import read_file
from spnmkl.errors import DataError
import openpyxl, pyarrow.parquet
for path in sys.argv[1:]:
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(read_file(os.path.basename(path), open(path, "rb").read()).frame.shape)
        except DataError as error:
            said = str(error)
        os.write(into, said.encode())
        os._exit(0)
    os.close(into)
    _, status, used = os.wait4(child, 0)
    said = os.read(out, 100_000).decode()
    print(json.dumps([os.path.basename(path), status, said, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime]))
"""


def arff(values: int, ending: str) -> bytes:
    listed = ",".join(f"v{k}" for k in range(values))
    return f"@relation r\n@attribute c {{{listed}{ending}\n@data\nv1\nv2\n".encode()


def gzipped(block: bytes, times: int, first: bytes = b"") -> bytes:
    """Members one after the other are one text."""
    return gzip.compress(first) * bool(first) + gzip.compress(block, 9) * times


def dictionary_rows() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = pa.table({"c": pa.DictionaryArray.from_arrays(np.zeros(1_000_000, dtype=np.int32), ["a"])})
    file = io.BytesIO()
    with pq.ParquetWriter(file, part.schema) as writer:
        for _ in range(40):
            writer.write_table(part)
    return file.getvalue()


def sparse_arff() -> bytes:
    head = "".join(f"@attribute a{k} numeric\n" for k in range(2000))
    return f"@relation r\n{head}@data\n{'{0 1}' + chr(10)}".encode() + b"{0 1}\n" * 23_999


def libsvm() -> bytes:
    return b"1 1:1 100000:1\n" * 480


def empty_sheets(sheets: int, rows: int, cells: int) -> bytes:
    """A workbook of sheets in which every cell is empty."""
    return with_rows(b"<row>" + b"<c/>" * cells + b"</row>", rows, sheets)


def with_rows(row: bytes, rows: int = 1, sheets: int = 1, first: bytes = b"") -> bytes:
    """A workbook of sheets of that row, many times, below another one."""
    import openpyxl

    book = openpyxl.Workbook()
    for _ in range(sheets - 1):
        book.create_sheet()
    plain, file = io.BytesIO(), io.BytesIO()
    book.save(plain)
    with zipfile.ZipFile(plain) as good, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bad:
        for member in good.namelist():
            text = good.read(member)
            assert b"worksheets/" not in member.encode() or b"</sheetData>" in text
            bad.writestr(member, text.replace(b"</sheetData>", first + row * rows + b"</sheetData>"))
    return file.getvalue()


def far_cell(rows: int) -> bytes:
    """A workbook of rows of one cell, below one cell in the last column that three letters name."""
    return with_rows(b"<row><c><v>1</v></c></row>", rows, first=b'<row><c r="ZZZ1"><v>1</v></c></row>')


def long_header(names: int, rows: int) -> bytes:
    """Rows of one value below many names."""
    return b",".join(b"f%d" % k for k in range(names)) + b"\n" + b"1\n" * rows


def many_parts(n: int) -> bytes:
    """A zip archive whose list names one empty part many times."""
    name = b"xl/workbook.xml"
    plain = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0)
    part = b"PK\x03\x04" + plain + name
    listed = b"PK\x01\x02" + struct.pack("<H", 20) + plain + bytes(14) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 2**16 - 1, 2**16 - 1, n * len(listed), len(part), 0)
    return part + n * listed + end


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "comment.arff": (lambda: arff(30, "} % comment"), "(2, 1)"),
    "open.arff": (lambda: arff(30, ""), "line 2 opens a list of values with {, but does not close it with }"),
    "line.csv.gz": (lambda: gzipped(b"1," * 5_000_000, 49, b"a,b\n"), "would take more than"),
    "cell.csv.gz": (lambda: gzipped(b"x" * 10_000_000, 49, b"a,b\n1,"), "would take more than"),
    "plain_line.csv": (lambda: b"a,b\n" + b"1," * 10_000_000, "has a line of more than 4 MB"),
    "dictionary.parquet": (dictionary_rows, "would take more than"),
    "sparse.arff": (sparse_arff, "would take more than"),
    "wide.svm": (libsvm, "would take more than"),
    "sheets.xlsx": (lambda: empty_sheets(48, 2000, 1000), "would take more than"),
    "one_row.xlsx": (lambda: empty_sheets(1, 1, 8_000_000), "has more than 2,000,000 cells"),
    "attribute.xlsx": (lambda: with_rows(b'<row r="' + b"1" * 50_000_000 + b'"/>'), "is damaged or cut short"),
    "far_cell.xlsx": (lambda: far_cell(10_000), "at most 50,000,000 can be read"),
    "few_far.xlsx": (lambda: far_cell(500), "(501, 18278)"),
    "parts.xlsx": (lambda: many_parts(300_000), "holds more than 20,000 parts"),
    "rows.csv.gz": (lambda: gzipped(b"1.234567,2.345678,a\n" * 500_000, 49, b"x,y,c\n"), "would take more than"),
    "long_header.csv": (lambda: long_header(100_000, 450), "would take more than"),
    "short_rows.csv.gz": (lambda: gzipped(b"1\n" * 5_000_000, 6, b"x\n"), "would take more than"),
}


@dataclass(frozen=True)
class Reading:
    """What reading a file came to: `said` is the table's shape or the refusal."""

    size: int
    said: str
    memory: int
    seconds: float


def measured(contents: Mapping[str, Callable[[], bytes]]) -> dict[str, Reading]:
    """By file, what came of it, bytes of the whole process at the peak, and seconds of processor."""
    with TemporaryDirectory() as name:
        paths = [Path(name) / file for file in contents]
        for path, content in zip(paths, contents.values(), strict=True):
            path.write_bytes(content())
        sizes = {path.name: path.stat().st_size for path in paths}
        command = [sys.executable, "-c", CHILD, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(status == 0 for _, status, *_ in found)
    return {name: Reading(sizes[name], said, memory, seconds) for name, _, said, memory, seconds in found}


def workbook(text: bool) -> bytes:
    """399,000 cells."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(3990, 100)))
    file = io.BytesIO()
    (frame.map("t{:.5f}".format) if text else frame).to_excel(file, index=False)
    return file.getvalue()


LARGE = {"numbers.xlsx": lambda: workbook(False), "text.xlsx": lambda: workbook(True)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--page", action="store_true", help="write the table into docs/reliability.md")
    asked = parser.parse_args()
    found = measured({name: content for name, (content, _) in FILES.items()} | LARGE)
    rows = [
        [name, f"{each.size:,} bytes", f"{each.seconds:.2f} s", f"{each.memory / 1e6:.0f} MB", outcome(each.said)]
        for name, each in found.items()
    ]
    shown = table(["file", "size", "processor", "memory", "outcome"], rows)
    print(shown)
    if asked.page:
        put("unfolding", f"`python scripts/unfolding.py` {circumstances()}:\n\n{shown}")
    return 0


def outcome(said: str) -> str:
    return f"read, {said}" if said.startswith("(") else "refused"


if __name__ == "__main__":
    sys.exit(main())
