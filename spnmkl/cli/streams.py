"""Files that commands read and write; `-` is standard input or output in the place of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import pandas as pd

from spnmkl.data.guarded import guarded_csv
from spnmkl.errors import DataError, ParameterError, StructureError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.model_file import load_model
from spnmkl.structure import SPN
from spnmkl.writing import open_descriptor, replaced

STANDARD = "-"  # standard input or output in the place of a file


def read_spn(given: str) -> SPN:
    path = Path(given)
    try:
        return SPN.from_json(sys.stdin.buffer.read() if given == STANDARD else path.read_bytes())
    except FileNotFoundError:
        raise StructureError(f"There is no file {str(path)!r}; check its name and folder.") from None
    except StructureError as error:
        raise StructureError(f"{path.name}: {error}") from None


def write_spn(spn: SPN, out: Path | None) -> None:
    with written(out) as file:
        file.write_text(spn.to_json(indent=2) + "\n" * (out is None), encoding="utf-8")


def write_table(table: pd.DataFrame, out: Path | None, exact: bool) -> None:
    """As CSV, in which no text is a formula to a spreadsheet, unless it is to be exact."""
    with written(out) as file:
        file.write_text(guarded_csv(table, exact), encoding="utf-8", newline="")


def read_model(given: str) -> SPNMKLClassifier:
    if given != STANDARD:
        return load_model(given)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "stdin"
        file.write_bytes(sys.stdin.buffer.read())
        return load_model(file)


def read_once(*inputs: str) -> None:
    if inputs.count(STANDARD) > 1:
        raise ParameterError("Standard input, -, can be read only once; name files for the others.")


def target(given: str, *inputs: str) -> Path | None:
    """Where to write, checked before any work is done; None for standard output, also by a name of it."""
    if given == STANDARD or open_descriptor(given) == 1:
        return None
    path = Path(given)
    if not path.parent.is_dir():
        raise DataError(f"The folder {str(path.parent)!r} does not exist; make it, or choose another.")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; name a file.")
    written = [Path(other).resolve() for other in inputs if other != STANDARD]
    if path.is_file() and path.resolve() in written:
        raise DataError(f"{str(path)!r} is an input and would be overwritten; choose another name.")
    return path


@contextmanager
def written(out: Path | None) -> Iterator[Path]:
    """A name to write to, whose content ends in the file, or on standard output."""
    if out is not None:
        with replaced(out) as temporary:
            yield temporary
        return
    with TemporaryDirectory() as folder:
        temporary = Path(folder) / "stdout"
        yield temporary
        try:
            show(temporary.read_bytes(), sys.stdout)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise OSError("Standard output was closed by its reader before everything was written.") from None


def show(data: bytes, stream: TextIO) -> None:
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()
