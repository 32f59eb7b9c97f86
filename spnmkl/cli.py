"""The command line: fit, predict, inspect, validate, template, app. Everything it does is a call of the library.

The exit code tells how ``spnmkl fit`` ended; the other commands return 0, 2 or 130, ``validate`` 2 for errors found.

    0    certified optimal: the gap is within the tolerance
    2    bad input or usage: one sentence on stderr, nothing written
    3    stationary: some p < 1, so that no bound proves the optimum; saved
    4    stopped at the limit of iterations, or where rounding allows no further progress; saved
    5    training interrupted by Ctrl-C; the best weights so far are saved
    6    stopped at --max-time; the best weights so far are saved
    130  interrupted by Ctrl-C outside of training, or twice; no file is half written
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from spnmkl.arguments import command_parser
from spnmkl.data import (
    Choices,
    Dataset,
    Joining,
    Preparation,
    drop_columns,
    fill_template,
    identifiers,
    is_numeric,
    read_tables,
    refuse_missing,
    split_label,
    split_rows,
)
from spnmkl.data.dataset import Views
from spnmkl.data.words import counted
from spnmkl.errors import DataError, ParameterError, SPNMKLError, StructureError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import heaviest_paths
from spnmkl.launch import run_app
from spnmkl.model_file import load_model, save_model
from spnmkl.report import accuracy_sentence, certificate_sentence, count_text, inspection_lines, summary, weight_lines
from spnmkl.solution import Record
from spnmkl.structure import SPN
from spnmkl.structure.templates import TEMPLATES
from spnmkl.training.checks import all_issues, errors
from spnmkl.training.predict import Predictor
from spnmkl.training.scores import score

EXIT_CODES = {"optimal": 0, "stationary": 3, "iteration_limit": 4, "precision": 4, "interrupted": 5, "time_limit": 6}
BAD_INPUT, ABORTED = 2, 130
MOST_WEIGHTS = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # β and ≤ are not in every encoding
    try:
        parser = command_parser(COMMANDS, "exit codes:" + (__doc__ or "").partition("found.")[2])
        args, more = parser.parse_known_args(arguments)
        if args.run is _app:
            return run_app(more)
        if more:
            parser.error(f"unrecognized arguments: {' '.join(more)}")
        code = args.run(args)
        sys.stdout.flush()
        return code
    except (SPNMKLError, InvalidParameterError) as error:
        return _refuse(str(error))
    except BrokenPipeError:
        # The reader of a pipe has seen enough; what is left must not be flushed into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _refuse(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except MemoryError:
        return _refuse("There is not enough memory; use fewer rows or kernels.")
    except KeyboardInterrupt:
        print("spnmkl: interrupted.", file=sys.stderr)
        return ABORTED


def _refuse(sentence: str) -> int:
    print(f"spnmkl: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _app(args: argparse.Namespace) -> int:
    return run_app()


def _fit(args: argparse.Namespace) -> int:
    out = _target(args.out, *args.data)
    table = _read(args)
    features, y = split_label(table.frame, args.label, [*args.ignore, *filter(None, [args.group])])
    features = _without_identifiers(features.drop(columns=table.id_column or []), args.keep)
    train, test = _rows(table.frame, args)
    if args.impute is None:
        refuse_missing(features, "fill them, drop them, or choose impute='mean' (--impute mean)")
    choices = Choices("standardize" if args.standardize else "as is", "mean" if args.impute else "refuse")
    preparation = Preparation.fit(features.iloc[train], choices)
    views = _views_of(table, features)
    spn = read_structure(args.structure, preparation.numeric, preparation.text, views)
    preparation.check_structure(spn)
    X, y_train = preparation.transform(features.iloc[train]), y[train]
    started = time.perf_counter()
    progress = Progress(sys.stderr, args.progress or (sys.stderr.isatty() and not args.quiet))
    with stop_on_interrupt() as stop, _warnings_as_sentences():
        model = SPNMKLClassifier(
            spn,
            C=args.C,
            lam=args.lam,
            p=args.p,
            solver=args.solver,
            tol=args.tol,
            max_iter=args.max_iter,
            max_time=args.max_time,
            class_weight=args.class_weight,
            n_threads=args.threads,
            max_memory=args.max_memory,
            callback=lambda record: progress(record) and not stop.is_set(),
        ).fit(X, y_train)
        progress.close()
    known = {"preparation": preparation.to_dict(), "label": args.label, "id": table.id_column}
    save_model(model, out, extra=known | {"views": [[view, list(columns)] for view, columns in (views or {}).items()]})
    if not args.quiet:
        solution = model.solution_
        print(certificate_sentence(solution))
        print(accuracy_sentence("training accuracy", model.predict(X), y_train))
        if len(test):
            decision = model.decision_function(preparation.transform(features.iloc[test]))
            print(score(y[test], decision, model.classes_).sentence())
        print("\n".join(weight_lines(solution, MOST_WEIGHTS)))
        print(f"{counted(len(solution.history), 'iteration')} in {time.perf_counter() - started:.1f} s, saved as {out}")
    return EXIT_CODES[model.status_]


@dataclass(frozen=True)
class _Given:
    """The data of a command: one table, whatever the number of files."""

    frame: pd.DataFrame
    views: Views | None
    id_column: str | None


def _read(args: argparse.Namespace, text_columns: Sequence[str] = ()) -> _Given:
    """The table, or several joined; what was left out is said on stderr."""
    joining = Joining("rows" if args.by_order else "id", args.id)
    found, id_column = read_tables(args.data, joining, text_columns, args.skip_lines)
    for note in found.notes:
        print(f"spnmkl: {note}", file=sys.stderr)
    return _Given(found.frame, found.views if len(args.data) > 1 else None, id_column)


def _views_of(table: _Given, features: pd.DataFrame) -> dict[str, tuple[str, ...]] | None:
    """The files as views, of the columns that are learned from; None where a single file has them in its names."""
    if table.views is None:
        return None
    views = {view: tuple(c for c in columns if c in features) for view, columns in table.views.items()}
    return {view: columns for view, columns in views.items() if columns}


def _rows(frame: pd.DataFrame, args: argparse.Namespace) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which rows to train on and which to hold out, as the app does."""
    if args.test_share is None:
        return np.arange(len(frame)), np.arange(0)
    parts = split_rows(Dataset("", frame, args.label, group=args.group), args.test_share, args.seed)
    return parts.train, parts.test


def _without_identifiers(features: pd.DataFrame, keep: Sequence[str]) -> pd.DataFrame:
    """Leave out columns that only tell rows apart, as the app does, and say so."""
    left_out = [name for name in identifiers(features) if name not in keep]
    for name in left_out:
        print(f"spnmkl: Column {name!r} only tells rows apart and is left out; --keep it to use it.", file=sys.stderr)
    return features.drop(columns=left_out)


def _predict(args: argparse.Namespace) -> int:
    out = None if args.out is None else _target(args.out, *args.data, args.model)
    model = load_model(args.model)
    predictor = Predictor.of_model(Path(args.model).name, model)
    given = _read(args, predictor.needed.text)
    frame = given.frame
    predictor.match(frame).check()
    X = predictor.transform(frame)
    for note in predictor.odd_values(frame)[1]:
        print(f"spnmkl: {note}", file=sys.stderr)
    ids = {} if given.id_column is None else {given.id_column: frame[given.id_column]}
    table = pd.DataFrame({**ids, "prediction": model.predict(X)})
    if args.scores:
        scores = model.decision_function(X)
        names = ["score"] if scores.ndim == 1 else [f"score_{c}" for c in model.classes_]
        table[names] = scores.reshape(len(X), -1)
    if out is None:
        table.to_csv(sys.stdout, index=False)
    else:
        with replaced(out) as temporary:
            table.to_csv(temporary, index=False)
    return 0


def _inspect(args: argparse.Namespace) -> int:
    model = load_model(args.model)
    paths = heaviest_paths(model.solution_, args.paths)
    if args.json:
        print(json.dumps(summary(model, paths), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(inspection_lines(model, paths)))
    return 0


def _validate(args: argparse.Namespace) -> int:
    out = None if args.repair is None else _target(args.repair)
    spn = _read_spn(Path(args.structure))
    issues = all_issues(spn)
    for issue in issues:
        print(f"{issue.severity}: {issue.message}" + (f" Repair: {issue.repair}." if issue.repair else ""))
    if out is not None:
        spn = spn.repaired()
        with replaced(out) as temporary:
            temporary.write_text(spn.to_json(indent=2), encoding="utf-8")
        issues = all_issues(spn)
        print(f"repaired structure saved as {out}; errors left: {len(errors(issues))}")
    if errors(issues):
        return BAD_INPUT
    print(f"valid: {spn!r}, {count_text(spn.n_paths)} paths, {counted(spn.n_layers, 'layer')}")
    return 0


def _template(args: argparse.Namespace) -> int:
    if args.list:
        for template in TEMPLATES.values():
            print(f"{template.name:18} {template.description}")
        return 0
    if args.name is None:
        raise ParameterError(f"Name a template, one of {', '.join(TEMPLATES)}; or pass --list.")
    out = None if args.out is None else _target(args.out, *(args.columns or []))
    spn = fill_template(args.name, *_column_kinds(args))
    if out is None:
        print(spn.to_json(indent=2))
        return 0
    with replaced(out) as temporary:
        temporary.write_text(spn.to_json(indent=2), encoding="utf-8")
    print(f"{spn!r} saved as {out}")
    return 0


def read_structure(given: str, numeric: Sequence[str], text: Sequence[str], views: Views | None = None) -> SPN:
    """A structure file, or a template by name filled with the columns."""
    if given in TEMPLATES:
        return fill_template(given, numeric, text, views)
    path = Path(given)
    if not path.exists() and path.suffix != ".json":
        raise StructureError(f"There is no file or template {given!r}; the templates are {', '.join(TEMPLATES)}.")
    return _read_spn(path)


def _read_spn(path: Path) -> SPN:
    try:
        return SPN.from_json(path.read_bytes())
    except FileNotFoundError:
        raise StructureError(f"There is no file {str(path)!r}; check its name and folder.") from None
    except StructureError as error:
        raise StructureError(f"{path.name}: {error}") from None


def _column_kinds(args: argparse.Namespace) -> tuple[list[str], list[str], dict[str, tuple[str, ...]] | None]:
    """The numeric columns, those of text, and the views where each has a file."""
    if args.columns is None:
        return [], [], None
    args.data = args.columns
    table = _read(args)
    frame = drop_columns(table.frame, [*filter(None, [args.label, table.id_column]), *args.ignore])
    frame = frame.drop(columns=identifiers(frame))
    numeric = [name for name in frame if is_numeric(frame[name])]
    return numeric, [name for name in frame if name not in numeric], _views_of(table, frame)


class Progress:
    """A line per iteration; on a terminal each takes the place of the last."""

    def __init__(self, stream: TextIO, shown: bool) -> None:
        self.stream, self.shown, self.live = stream, shown, stream.isatty()
        self.end = "" if self.live else "\n"

    def __call__(self, record: Record) -> bool:
        if self.shown:
            active = len(record.beta) - len(record.pruned)
            line = (
                f"iteration {record.iteration:3}  objective {record.objective:<10.6g}  gap {record.gap:.1e}  "
                f"active weights {active} of {len(record.beta)}"
            )
            print(f"\r{line:<78}" if self.live else line, end=self.end, file=self.stream, flush=True)
        return True

    def close(self) -> None:
        if self.shown and self.live:
            print(file=self.stream)


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """The first Ctrl-C asks the training to stop after its iteration, a second one ends the program."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(2, b"\nstopping after this iteration; Ctrl-C again ends at once\n")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    """What the training warns of, on stderr without file and line; the certificate tells of convergence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning):
            print(f"spnmkl: {warning.message}", file=sys.stderr)


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`, whose place it takes only when everything was written."""
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _target(given: str, *inputs: str) -> Path:
    """Where to write, checked before any work is done."""
    path = Path(given)
    if not path.parent.is_dir():
        raise DataError(f"The folder {str(path.parent)!r} does not exist; make it, or choose another.")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; name a file.")
    if any(path.resolve() == Path(other).resolve() for other in inputs):
        raise DataError(f"{str(path)!r} is an input and would be overwritten; choose another name.")
    return path


COMMANDS = {
    "app": _app,
    "fit": _fit,
    "predict": _predict,
    "inspect": _inspect,
    "validate": _validate,
    "template": _template,
}
