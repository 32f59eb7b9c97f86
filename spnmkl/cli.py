"""The command line: fit, predict, inspect, validate, template. Everything it does is a call of the library.

The exit code of ``spnmkl fit`` tells how the training ended:

====  ==================================================================================
   0  certified optimal: the gap is within the tolerance
   2  bad input or usage: one sentence on stderr, nothing written
   3  stationary: some p < 1, so that no bound proves the optimum
   4  stopped at the limit of iterations, or no further progress
   5  interrupted by Ctrl-C; the best weights so far are saved
 130  interrupted by Ctrl-C outside of training, or twice; nothing written
====  ==================================================================================

The other commands return 0 or 2; ``spnmkl validate`` returns 2 for a structure with errors.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import spnmkl
from spnmkl import structure
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.circuit.program import compile_circuit
from spnmkl.data import Preparation, fill_template, read_table, split_label
from spnmkl.errors import DataError, ParameterError, SPNMKLError, StructureError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import heaviest_paths
from spnmkl.kernels import validate_kernels
from spnmkl.model_file import load_model, save_model
from spnmkl.solution import Record, Solution
from spnmkl.solvers import SOLVERS
from spnmkl.structure import SPN, Issue
from spnmkl.structure.formula import symbols
from spnmkl.structure.templates import TEMPLATES

EXIT_CODES = {"optimal": 0, "stationary": 3, "iteration_limit": 4, "stalled": 4, "interrupted": 5}
BAD_INPUT, ABORTED = 2, 130
MOST_WEIGHTS = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        args = _parser().parse_args(arguments)
        return args.run(args)
    except SPNMKLError as error:
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
        print("spnmkl: interrupted; nothing was written.", file=sys.stderr)
        return ABORTED


def _refuse(sentence: str) -> int:
    print(f"spnmkl: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _fit(args: argparse.Namespace) -> int:
    out = _target(args.out, args.data)
    features, y = split_label(read_table(args.data), args.label, args.ignore)
    preparation = Preparation.fit(features, standardize=args.standardize, impute=args.impute)
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
            callback=lambda record: progress(record) and not stop.is_set(),
        ).fit(X, y)
        progress.close()
    with replaced(out) as temporary:
        save_model(model, temporary, extra={"preparation": preparation.to_dict(), "label": args.label})
    if not args.quiet:
        solution = model.solution_
        print(certificate_sentence(solution))
        print(accuracy_sentence("training accuracy", model.predict(X), y))
        print("\n".join(weight_lines(solution, MOST_WEIGHTS)))
        print(f"{len(solution.history)} iterations in {time.perf_counter() - started:.1f} s, saved as {out}")
    return EXIT_CODES[model.status_]


def _predict(args: argparse.Namespace) -> int:
    out = None if args.out is None else _target(args.out, args.data, args.model)
    model = load_model(args.model)
    preparation = stored_preparation(model)
    X = preparation.transform(read_table(args.data, text_columns=preparation.text))
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
    print(f"valid: {spn!r}, {_count(spn.n_paths)} paths, {spn.n_layers} layers")
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
