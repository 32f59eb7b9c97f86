"""The command line: fit, predict, inspect, validate, template, app. Everything it does is a call of the library.

The exit code tells how ``spnmkl fit`` ended; the other commands return 0, 2 or 130, ``validate`` 2 for errors found.

    0    certified optimal: the gap is within the tolerance
    2    bad input or usage: one sentence on stderr, nothing written
    3    stationary: some p < 1, so that no bound proves the optimum; saved
    4    stopped at the limit of iterations, or no further progress; saved
    5    training interrupted by Ctrl-C; the best weights so far are saved
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TextIO

import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

import spnmkl
from spnmkl.circuit.program import compile_circuit
from spnmkl.data import (
    Choices,
    Preparation,
    drop_columns,
    fill_template,
    identifiers,
    is_numeric,
    read_table,
    refuse_missing,
    split_label,
)
from spnmkl.data.words import counted
from spnmkl.errors import DataError, ParameterError, SPNMKLError, StructureError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import heaviest_paths
from spnmkl.kernels import validate_kernels
from spnmkl.launch import run_app
from spnmkl.model_file import load_model, save_model
from spnmkl.report import accuracy_sentence, certificate_sentence, count_text, inspection_lines, summary, weight_lines
from spnmkl.runs.prediction import Predictor
from spnmkl.solution import Record
from spnmkl.solvers import SOLVERS
from spnmkl.structure import SPN, Issue
from spnmkl.structure.templates import TEMPLATES

EXIT_CODES = {"optimal": 0, "stationary": 3, "iteration_limit": 4, "stalled": 4, "interrupted": 5}
BAD_INPUT, ABORTED = 2, 130
FIT_EXITS = "exit codes:" + (__doc__ or "").partition("found.")[2]
OTHER_EXITS = """exit codes:

    0    done
    2    bad input or usage: one sentence on stderr; for validate also errors found
    130  interrupted by Ctrl-C; no file is half written
"""
MOST_WEIGHTS = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # β and ≤ are not in every encoding
    try:
        parser = _parser()
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
    out = _target(args.out, args.data)
    features, y = split_label(read_table(args.data, skip=args.skip_lines), args.label, args.ignore)
    features = _without_identifiers(features, args.keep)
    if args.impute is None:
        refuse_missing(features, "fill them, drop them, or choose impute='mean' (--impute mean)")
    choices = Choices("standardize" if args.standardize else "as is", "mean" if args.impute else "refuse")
    preparation = Preparation.fit(features, choices)
    spn = read_structure(args.structure, preparation.numeric, preparation.text)
    preparation.check_structure(spn)
    X = preparation.transform(features)
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
            class_weight=args.class_weight,
            n_threads=args.threads,
            max_memory=args.max_memory,
            callback=lambda record: progress(record) and not stop.is_set(),
        ).fit(X, y)
        progress.close()
    save_model(model, out, extra={"preparation": preparation.to_dict(), "label": args.label})
    if not args.quiet:
        solution = model.solution_
        print(certificate_sentence(solution))
        print(accuracy_sentence("training accuracy", model.predict(X), y))
        print("\n".join(weight_lines(solution, MOST_WEIGHTS)))
        print(f"{counted(len(solution.history), 'iteration')} in {time.perf_counter() - started:.1f} s, saved as {out}")
    return EXIT_CODES[model.status_]


def _without_identifiers(features: pd.DataFrame, keep: Sequence[str]) -> pd.DataFrame:
    """Leave out columns that only tell rows apart, as the app does, and say so."""
    left_out = [name for name in identifiers(features) if name not in keep]
    for name in left_out:
        print(f"spnmkl: Column {name!r} only tells rows apart and is left out; --keep it to use it.", file=sys.stderr)
    return features.drop(columns=left_out)


def _predict(args: argparse.Namespace) -> int:
    out = None if args.out is None else _target(args.out, args.data, args.model)
    model = load_model(args.model)
    predictor = Predictor.of_model(Path(args.model).name, model)
    frame = read_table(args.data, predictor.needed.text, args.skip_lines)
    predictor.match(frame).check()
    X = predictor.transform(frame)
    for note in predictor.odd_values(frame)[1]:
        print(f"spnmkl: {note}", file=sys.stderr)
    table = pd.DataFrame({"prediction": model.predict(X)})
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
        left = sum(issue.severity == "error" for issue in issues)
        print(f"repaired structure saved as {out}; errors left: {left}")
    if any(issue.severity == "error" for issue in issues):
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
    out = None if args.out is None else _target(args.out, *([args.columns] if args.columns else []))
    numeric, text = _column_kinds(args)
    spn = fill_template(args.name, numeric, text)
    if out is None:
        print(spn.to_json(indent=2))
        return 0
    with replaced(out) as temporary:
        temporary.write_text(spn.to_json(indent=2), encoding="utf-8")
    print(f"{spn!r} saved as {out}")
    return 0


def read_structure(given: str, numeric: Sequence[str], text: Sequence[str]) -> SPN:
    """A structure file, or a template by name filled with the columns."""
    if given in TEMPLATES:
        return fill_template(given, numeric, text)
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


def all_issues(spn: SPN) -> list[Issue]:
    """What is wrong with the drawing, with its kernels, or with its size once compiled."""
    issues = spn.validate() + validate_kernels(spn)
    if any(issue.severity == "error" for issue in issues):
        return issues
    try:
        compile_circuit(spn)
    except StructureError as error:
        issues.append(Issue("too_large", "error", (), str(error)))
    return issues


def _column_kinds(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    if args.columns is None:
        return [], []
    table = read_table(args.columns, skip=args.skip_lines)
    frame = drop_columns(table, [*([args.label] if args.label else []), *args.ignore])
    frame = frame.drop(columns=identifiers(frame))
    numeric = [name for name in frame if is_numeric(frame[name])]
    return numeric, [name for name in frame if name not in numeric]


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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ParameterError(f"{message}; see {self.prog} --help.")


def _power(text: str) -> float | str:
    try:
        return text if text == "sparse" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or sparse, found {text!r}") from None


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number of 0 or more, found {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="spnmkl", description="Multiple kernel learning over drawn sum-product networks.")
    parser.add_argument("--version", action="version", version=f"spnmkl {spnmkl.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        exits = FIT_EXITS if run is _fit else OTHER_EXITS
        sub = commands.add_parser(
            name, help=help, description=help, epilog=exits, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        sub.set_defaults(run=run)
        return sub

    command("app", _app, "open the app; further options, such as --server.port=8502, go to streamlit run")
    _fit_arguments(command("fit", _fit, "learn the weights of a structure from a table"))
    predict = command("predict", _predict, "predict the classes of new samples")
    predict.add_argument("model", help="a file that fit has written")
    predict.add_argument("data", help="table with the columns of training")
    predict.add_argument("--out", help="where to write the predictions; default: standard output")
    predict.add_argument("--scores", action="store_true", help="add the decision function's values")
    _reading_arguments(predict)
    inspect = command("inspect", _inspect, "show what a model learned and what is proved")
    inspect.add_argument("model", help="a file that fit has written")
    inspect.add_argument("--paths", type=_natural, default=10, metavar="N", help="how many heaviest paths; default 10")
    inspect.add_argument("--json", action="store_true", help="for programs")
    validate = command("validate", _validate, "say what is wrong with a structure")
    validate.add_argument("structure", help="a structure file, .json")
    validate.add_argument("--repair", metavar="OUT", help="write the structure with the obvious repairs made")
    template = command("template", _template, "write a structure to start from")
    template.add_argument("name", nargs="?", metavar="NAME", help="see --list")
    template.add_argument("--list", action="store_true", help="list the templates")
    template.add_argument("--columns", metavar="DATA", help="table whose columns fill it; view__feature makes groups")
    template.add_argument("--label", help="the column that holds the classes")
    template.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    _reading_arguments(template)
    template.add_argument("--out", help="where to write the structure; default: standard output")
    return parser


def _reading_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--skip-lines",
        type=_natural,
        metavar="N",
        help="lines above the table's header; default: those that begin with #",
    )


def _fit_arguments(fit: argparse.ArgumentParser) -> None:
    fit.add_argument("data", help="table with a header: CSV, TSV, Excel, Parquet, ARFF or LIBSVM")
    _reading_arguments(fit)
    fit.add_argument("--label", required=True, help="the column that holds the classes")
    fit.add_argument("--out", required=True, help="where to write the model")
    fit.add_argument("--structure", default="flat", help="a structure file (.json) or a template's name; default flat")
    fit.add_argument("--C", type=float, default=1.0, help="weight of the loss; default 1")
    fit.add_argument("--lam", type=float, default=1.0, help="weight λ of the weights' regulariser; default 1")
    fit.add_argument("--p", type=_power, help="p of every product, or sparse; default: as in the structure")
    fit.add_argument("--tol", type=float, default=1e-3, help="relative gap to reach; default 1e-3")
    fit.add_argument("--max-iter", type=int, help="limit of iterations")
    fit.add_argument("--solver", choices=sorted(SOLVERS), default="newton")
    fit.add_argument("--class-weight", choices=["balanced"], help="give all classes the same total weight")
    fit.add_argument("--no-standardize", dest="standardize", action="store_false", help="leave numbers as they are")
    fit.add_argument("--impute", choices=["mean"], help="fill missing values instead of refusing them")
    fit.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    fit.add_argument("--keep", nargs="+", default=[], metavar="COLUMN", help="columns to use though they look like ids")
    fit.add_argument("--threads", type=int, help="default: all cores")
    fit.add_argument(
        "--max-memory", type=float, metavar="GB", help="gigabytes for kernel matrices; default: half of what is free"
    )
    fit.add_argument("--progress", action="store_true", help="show progress although stderr is no terminal")
    fit.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")
