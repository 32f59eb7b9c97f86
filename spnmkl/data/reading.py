"""From an uploaded file to a table, with a sentence for everything that usually goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pandas as pd
from numpy.typing import NDArray

from spnmkl.data import formats
from spnmkl.data.options import ReadOptions, guess_text
from spnmkl.data.text_table import guess, parse_text, read_text, transposed, unique_names, writing
from spnmkl.data.unpacking import Kind, check_shape, stem, unpack
from spnmkl.errors import DataError
from spnmkl.structure.text import shortened
from spnmkl.wording import counted, name_some, quoted

_SETTINGS: dict[Kind, tuple[str, ...]] = {
    "text": ("skip", "separator", "decimal", "encoding", "header", "missing", "transpose"),
    "excel": ("skip", "sheet", "decimal", "header", "missing", "transpose"),
    "parquet": ("transpose",),
}
_LETTERS_SHOWN, _MOST_LINES, _LINE_LETTERS = 20_000, 40, 120


@dataclass(frozen=True, eq=False)
class Table:
    """What a file holds.

    Attributes
    ----------
    name : str
        The file's name.
    frame : DataFrame
        Numbers, true/false and text under unique names, one sample per row.
    options : ReadOptions
        How the file was read; give `read_file` a corrected copy to read it differently.
    notes : tuple of str
        What was guessed or changed, in plain words.
    matrices : dict of ndarray
        Precomputed kernel matrices by name, over the rows of `frame`.
    kind : str
        "text", "excel", "parquet", "arff", "svmlight", "npz" or "mat".
    sheets : tuple of str
        The sheets of a workbook.
    renamed : dict
        Names that were made up → what stood there: nothing, or a name for the second time.
    beginning : str
        The first lines of the file as they are written, where it is text or a workbook.
    """

    name: str
    frame: pd.DataFrame
    options: ReadOptions = field(default_factory=ReadOptions)
    notes: tuple[str, ...] = ()
    matrices: dict[str, NDArray] = field(default_factory=dict)
    kind: Kind = "text"
    sheets: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    beginning: str = ""

    @property
    def settings(self) -> tuple[str, ...]:
        """The options that matter for this kind of file."""
        return _SETTINGS.get(self.kind, ())

    @property
    def view(self) -> str:
        """What to call the view that the file holds."""
        return stem(self.name)


def read_file(name: str, data: bytes, options: ReadOptions | None = None) -> Table:
    """Read a table, or kernel matrices, from the bytes of a file.

    CSV, TSV and other separated text, Excel, Parquet, ARFF and LIBSVM text, the text formats also with gzip; .npz and
    .mat with kernel matrices. The kind is seen from the content. At most 200 MB, unpacked 500 MB, 100,000 columns and
    50 million values; 2 million cells of a workbook; lines of 4 MB. What would take more than 200 MB of memory and 20
    times the size of the file is refused before it is taken. Nothing in a file is executed.

    Parameters
    ----------
    name : str
        The file's name.
    data : bytes
    options : ReadOptions, optional
        How it is written; guessed when None.
    """
    try:
        return _read(name, data, options)
    except MemoryError:
        raise DataError(f"There is not enough memory to read {quoted(name)}; leave out rows or columns.") from None


def guess_options(name: str, data: bytes, skip: int | None = None) -> ReadOptions:
    """How a file is written, as far as a look at it tells, below so many lines that are no part of the table."""
    packed = len(data)
    inner, kind, data = unpack(name, data)
    if kind == "text":
        return guess(inner, data, skip)[1]
    if kind == "excel":
        text, sheet, *_ = formats.read_excel(inner, data, None, packed)
        return replace(guess_text(text, separator=",", skip=skip), sheet=sheet)
    return ReadOptions()


def _read(name: str, data: bytes, options: ReadOptions | None) -> Table:
    packed = len(data)
    inner, kind, data = unpack(name, data)
    if kind == "text":
        text, options = read_text(inner, data, options)
        return _read_lines(name, kind, text, options, writing(options), packed)
    if kind == "excel":
        return _read_excel(name, data, options, packed)
    options = options or ReadOptions()
    if kind == "parquet":
        frame, notes = formats.read_parquet(name, data, packed)
        return _finished(name, kind, frame, options, notes)
    if kind in ("npz", "mat"):
        arrays = formats.read_npz(name, data) if kind == "npz" else formats.read_mat(name, data)
        matrices, frame, notes = formats.kernel_matrices(name, arrays)
        return Table(name, frame, options, tuple(notes), matrices, kind)
    read = formats.read_arff if kind == "arff" else formats.read_svmlight
    frame = read(name, data, packed)
    return _finished(name, kind, frame, replace(options, transpose=False), [])


def _read_excel(name: str, data: bytes, options: ReadOptions | None, packed: int) -> Table:
    text, sheet, sheets, unsaved = formats.read_excel(name, data, options.sheet if options else None, packed)
    options = replace(options or guess_text(text, separator=","), separator=",", sheet=sheet)
    notes = [f"Sheet {quoted(sheet)} of {name_some(sheets)} was read."] if len(sheets) > 1 else []
    notes += unsaved
    return replace(_read_lines(name, "excel", text, options, notes, packed), sheets=sheets)


def _read_lines(name: str, kind: Kind, text: str, options: ReadOptions, notes: list[str], packed: int) -> Table:
    frame = parse_text(name, text, options, packed)
    if options.skip:
        first = next((line for line in text.split("\n", options.skip)[: options.skip] if line.strip()), "")
        notes.append(f"{counted(options.skip, 'line')} above the table skipped, such as {quoted(first.strip())}.")
    lines = text[:_LETTERS_SHOWN].split("\n")[: min(options.skip + 6, _MOST_LINES)]
    beginning = "\n".join(shortened(line, _LINE_LETTERS) for line in lines)
    return replace(_finished(name, kind, frame, options, notes), beginning=beginning)


def _finished(name: str, kind: Kind, frame: pd.DataFrame, options: ReadOptions, notes: list[str]) -> Table:
    """Turned if its samples are columns, under unique names, with notes on what is missing."""
    if options.transpose:
        check_shape(name, frame.shape[1], len(frame))
        frame = transposed(frame, options.decimal)
        notes.append("Samples stand in columns, so that the table was turned.")
    names, renamed = unique_names(frame.columns)
    frame.columns = pd.Index(names)
    notes += [*_renaming(renamed), *_missing(frame)]
    return Table(name, frame, options, tuple(notes), {}, kind, renamed=renamed)


def _renaming(renamed: dict[str, str]) -> list[str]:
    unnamed = [name for name, title in renamed.items() if not title]
    doubled = [name for name, title in renamed.items() if title]
    notes = []
    if unnamed:
        notes.append(f"{counted(len(unnamed), 'column')} without a name: called {name_some(unnamed)}.")
    if doubled:
        notes.append(f"{counted(len(doubled), 'column')} with the name of another: called {name_some(doubled)}.")
    return notes


def _missing(frame: pd.DataFrame) -> list[str]:
    missing = frame.isna().sum()
    total, columns = int(missing.sum()), int((missing > 0).sum())
    empty = frame.columns[missing == len(frame)]
    notes = [f"{counted(total, 'value')} missing, in {counted(columns, 'column')}."] if total else []
    return notes + ([f"No value at all in {name_some(empty)}."] if len(empty) else [])
