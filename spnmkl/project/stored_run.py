"""One run as parts of an archive, and back: all that is needed to show it, and its model if it has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.data import Choices, Preparation, SplitSettings
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.history import NUMBERS, STATUSES, history_arrays, read_history
from spnmkl.importance.kept import checked
from spnmkl.inspection import HeldOutShares
from spnmkl.measures import scoring_name
from spnmkl.model_file import load_model, save_model
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.checked_values import finite, number, text
from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.training.branches import BranchEvidence
from spnmkl.training.choosing import Choosing
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.run import Run, Searched
from spnmkl.training.scores import Scores, score, unscored
from spnmkl.training.settings import Settings

MODEL = "model.spnmkl"
IMPORTANCE = "importance.json"
_NUMBERS = ("objective", "dual_bound", "gap", "lam", "tol")
_PER_PRODUCT = ("beta", "p", "witness_beta", "kkt_residual")


def write_run(writer: Writer, folder: str, run: Run) -> None:
    """A run whose leaves are given matrices has no model; its solution is kept in its place."""
    document = {
        "name": run.name,
        "structure": run.spn.to_dict(),
        "settings": run.settings.to_dict(),
        "split": {"test_share": run.split.test_share, "seed": run.split.seed},
        "dataset_name": run.dataset_name,
        "label": run.label,
        "seconds": run.seconds,
        "views": {view: list(leaves) for view, leaves in run.views.items()},
        "folds_scoring": None if run.cross_validation is None else run.cross_validation.scoring,
        "positive": None if run.positive is None else int(np.searchsorted(run.solution.classes, run.positive)),
        "path_points": 0 if run.path is None else len(run.path.C),
        "held_out": None if run.held_out is None else run.held_out.to_dict(),
        "branches": {node: found.to_dict() for node, found in run.branches.items()},
        "choosing": None if run.choosing is None else run.choosing.to_dict(),
        "searched": None if run.searched is None else finite(asdict(run.searched)),
    }
    if run.model is None:
        document["preparation"] = run.preparation.to_dict()
        write_labels(writer, folder, run.solution)
        _write_solution(writer, f"{folder}/solution", run.solution)
    else:
        writer.data(f"{folder}/{MODEL}", model_bytes(run.model))
    writer.json(f"{folder}/run.json", document)
    writer.array(f"{folder}/train.npy", run.train, np.int64)
    writer.array(f"{folder}/test.npy", run.test, np.int64)
    writer.array(f"{folder}/test_labels.npy", np.searchsorted(run.solution.classes, run.test_scores.y), np.int64)
    for part, scores in (("train", run.train_scores), ("test", run.test_scores)):
        if scores.scored:
            writer.array(f"{folder}/{part}_decision.npy", scores.decision, np.float64)
    if run.cross_validation is not None:
        write_cross_validation(writer, folder, run.cross_validation, run.spn)
    if run.path is not None:
        write_path(writer, folder, run.path)
    _write_fold_scores(writer, f"{folder}/held_out", run)
    if run.importance is not None:
        writer.json(f"{folder}/{IMPORTANCE}", dict(run.importance))


def read_run(reader: Reader, folder: str) -> Run:
    member = f"{folder}/run.json"
    document = reader.json(member)
    with reader.part(member):
        spn = SPN.from_dict(document["structure"])
        spn.check()
    model = _read_model(reader, f"{folder}/{MODEL}")
    with reader.part(member):
        preparation = Preparation.from_dict(model.extra_["preparation"] if model else document["preparation"])
        mapped = preparation.mapped(spn)
    if model is None:
        classes, y = read_labels(reader, folder)
        solution = _read_solution(reader, f"{folder}/solution", mapped, classes, y)
    else:
        solution = model.solution_
        with reader.part(f"{folder}/{MODEL}"):
            if solution.spn != mapped:
                raise ValueError("its structure is not that of the run")
    train, test = (reader.rows(f"{folder}/{part}.npy") for part in ("train", "test"))
    with reader.part(f"{folder}/train.npy"):
        if len(train) != len(solution.y):
            raise ValueError(f"it holds {len(train)} rows, but the weights were learned from {len(solution.y)}")
    y_test = solution.classes[reader.codes(f"{folder}/test_labels.npy", len(test), len(solution.classes))]
    scores = [
        _read_scores(reader, f"{folder}/{part}_decision.npy", y, solution.classes)
        for part, y in (("train", solution.y), ("test", y_test))
    ]
    with reader.part(member):
        return Run(
            name=text(document["name"]),
            spn=spn,
            settings=Settings.from_dict(document["settings"]),
            choices=preparation.choices,
            split=read_split(document["split"]),
            dataset_name=text(document["dataset_name"]),
            label=text(document["label"]),
            solution=solution,
            model=model,
            train_scores=scores[0],
            test_scores=scores[1],
            seconds=float(document["seconds"]),
            train=train,
            test=test,
            views=_read_views(spn, document["views"]),
            preparation=preparation,
            cross_validation=read_cross_validation(reader, folder, mapped, document.get("folds_scoring")),
            path=read_path(reader, folder, document["path_points"], solution.spn, solution.classes, solution.y),
            held_out=_read_shares(spn, document.get("held_out")),
            fold_scores=_read_fold_scores(reader, f"{folder}/held_out", solution.classes),
            importance=_read_importance(reader, f"{folder}/{IMPORTANCE}"),
            branches={v: BranchEvidence.from_dict(s, solution, v) for v, s in document.get("branches", {}).items()},
            choosing=None if (chosen := document.get("choosing")) is None else Choosing.from_dict(chosen),
            searched=_read_searched(document.get("searched")),
            positive=_read_positive(document.get("positive"), solution.classes),
        )


def _read_scores(reader: Reader, member: str, y: NDArray, classes: NDArray) -> Scores:
    """Without decisions the training was stopped before its rows were scored."""
    if member not in reader:
        return unscored(y, classes)
    shape = (len(y),) if len(classes) == 2 else (len(y), len(classes))
    decision = reader.floats(member, *shape)
    with reader.part(member):
        return score(y, decision, classes)


def read_split(stored: Mapping[str, Any]) -> SplitSettings:
    share, seed = stored["test_share"], stored["seed"]
    if type(share) is not float or not 0 < share < 1 or type(seed) is not int or not 0 <= seed < 2**32:
        raise ValueError("the split needs a share between 0 and 1 and a seed that is a whole number of 0 or more")
    return SplitSettings(share, seed)


def read_choices(stored: Mapping[str, Any]) -> Choices:
    return Choices.from_dict({text(key): value for key, value in stored.items()})


def model_bytes(model: SPNMKLClassifier) -> bytes:
    """What `save_model` writes."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / MODEL
        save_model(model, file)
        return file.read_bytes()


def _read_model(reader: Reader, member: str) -> SPNMKLClassifier | None:
    if member not in reader:
        return None
    data = reader.data(member)
    with reader.part(member), TemporaryDirectory() as folder:
        file = Path(folder) / MODEL
        file.write_bytes(data)
        return load_model(file)


def _read_views(spn: SPN, stored: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    views = {text(view): tuple(map(text, leaves)) for view, leaves in stored.items()}
    if any(leaf not in spn.kernels for leaves in views.values() for leaf in leaves):
        raise ValueError("a view names a leaf that the structure does not have")
    return views


def _read_shares(spn: SPN, stored: Mapping[str, Any] | None) -> HeldOutShares | None:
    """None in files of earlier versions, and where they were not measured."""
    shares = None if stored is None else HeldOutShares.from_dict(stored)
    if shares is not None and shares.nodes.keys() != set(spn.nodes):
        raise ValueError("the held-out shares are of another drawing")
    return shares


def write_labels(writer: Writer, folder: str, solution: Solution) -> None:
    writer.array(f"{folder}/classes.npy", solution.classes)
    writer.array(f"{folder}/labels.npy", np.searchsorted(solution.classes, solution.y), np.int64)


def read_labels(reader: Reader, folder: str) -> tuple[NDArray, NDArray]:
    """The classes, and the class of every training row."""
    member = f"{folder}/classes.npy"
    classes = reader.array(member, None, None)
    with reader.part(member):
        if len(classes) < 2 or not np.array_equal(np.unique(classes), classes):
            raise ValueError("the classes are not two or more different labels in order")
    n = len(reader.array(f"{folder}/labels.npy", np.int64, None))
    return classes, classes[reader.codes(f"{folder}/labels.npy", n, len(classes))]


def _write_solution(writer: Writer, folder: str, solution: Solution) -> None:
    """Without its structure and labels, which solutions of one run share."""
    writer.json(
        f"{folder}/solution.json",
        {
            "status": solution.status,
            "solver": solution.solver,
            "methods": [record.method for record in solution.history],
            "pruned": solution.pruned,
        },
    )
    products = list(solution.beta)
    history, weights = history_arrays(solution.history, products)
    arrays = {
        "numbers": [getattr(solution, name) for name in _NUMBERS],
        "products": [[getattr(solution, name)[v] for v in products] for name in _PER_PRODUCT],
        "alpha": np.atleast_2d(solution.alpha),
        "witness": np.atleast_2d(solution.witness_alpha),
        "intercept": np.atleast_1d(solution.intercept),
        "C": solution.C,
        "history": history,
        "weights": weights,
    }
    for name, values in arrays.items():
        writer.array(f"{folder}/{name}.npy", values, np.float64)


def _read_solution(reader: Reader, folder: str, spn: SPN, classes: NDArray, y: NDArray) -> Solution:
    document = reader.json(f"{folder}/solution.json")
    n, n_problems = len(y), 1 if len(classes) == 2 else len(classes)
    products = tuple(spn.products)
    numbers = reader.array(f"{folder}/numbers.npy", np.float64, len(_NUMBERS)).tolist()
    table = reader.array(f"{folder}/products.npy", np.float64, len(_PER_PRODUCT), len(products))
    known: dict[str, Any] = dict(zip(_NUMBERS, numbers, strict=True))
    known |= {
        name: dict(zip(products, row, strict=True)) for name, row in zip(_PER_PRODUCT, table.tolist(), strict=True)
    }
    with reader.part(f"{folder}/products.npy"):
        if not np.isfinite(table[:3]).all() or (table[:3] < 0).any():
            raise ValueError("it holds weights that are not finite numbers of at least 0")
    alpha, witness = (
        reader.floats(f"{folder}/{name}.npy", n_problems, n, at_least=0.0) for name in ("alpha", "witness")
    )
    intercept = reader.floats(f"{folder}/intercept.npy", n_problems)
    binary = n_problems == 1
    rows = reader.array(f"{folder}/history.npy", np.float64, None, len(NUMBERS))
    weights = reader.floats(f"{folder}/weights.npy", len(rows), len(products), at_least=0.0)
    with reader.part(f"{folder}/solution.json"):
        if document["status"] not in STATUSES:
            raise ValueError("the status is unknown")
        solver = text(document["solver"])
        pruned = {v: int(iteration) for v, iteration in document["pruned"].items() if v in products}
        return Solution(
            spn=spn,
            alpha=alpha[0] if binary else alpha,
            intercept=float(intercept[0]) if binary else intercept,
            classes=classes,
            status=document["status"],
            history=read_history(rows, weights, document.get("methods"), products, solver),
            pruned=pruned,
            y=y,
            C=reader.floats(f"{folder}/C.npy", n, at_least=0.0),
            solver=solver,
            witness_alpha=witness[0] if binary else witness,
            **known,
        )


def write_cross_validation(writer: Writer, folder: str, result: CrossValidation, spn: SPN) -> None:
    writer.array(f"{folder}/folds/C.npy", result.C, np.float64)
    writer.array(f"{folder}/folds/scores.npy", result.scores, np.float64)
    writer.array(f"{folder}/folds/beta.npy", [result.beta[v] for v in spn.products], np.float64)
    writer.array(f"{folder}/folds/best.npy", [result.best_C], np.float64)


def write_path(writer: Writer, folder: str, path: RegularizationPath) -> None:
    writer.array(f"{folder}/path/C.npy", path.C, np.float64)
    for k, solution in enumerate(path.solutions):
        _write_solution(writer, f"{folder}/path/{k}", solution)


def read_cross_validation(reader: Reader, folder: str, spn: SPN, scoring: object) -> CrossValidation | None:
    member = f"{folder}/folds/C.npy"
    if member not in reader:
        return None
    C = reader.floats(member, None, at_least=0.0)
    scores = reader.array(f"{folder}/folds/scores.npy", np.float64, len(C), None)
    beta = reader.array(f"{folder}/folds/beta.npy", np.float64, len(spn.products), *scores.shape)
    best = reader.floats(f"{folder}/folds/best.npy", 1, at_least=0.0)
    by = scoring_name(scoring or "accuracy")
    return CrossValidation(C, scores, dict(zip(spn.products, beta, strict=True)), float(best[0]), by)


def _write_fold_scores(writer: Writer, folder: str, run: Run) -> None:
    if run.fold_scores is None:
        return
    found = run.fold_scores
    told = {name: getattr(found, name) for name in ("chosen", "scoring", "held_back", "seconds", "afresh")}
    writer.json(f"{folder}/held_out.json", told)
    writer.array(f"{folder}/rows.npy", found.rows, np.int64)
    writer.array(f"{folder}/labels.npy", np.searchsorted(found.classes, found.y), np.int64)
    writer.array(f"{folder}/fold.npy", found.fold, np.int64)
    writer.array(f"{folder}/decision.npy", found.decision, np.float64)
    writer.array(f"{folder}/C.npy", found.C, np.float64)


def _read_importance(reader: Reader, member: str) -> Mapping[str, Any] | None:
    if member not in reader:
        return None
    stored = reader.json(member)
    with reader.part(member):
        return checked(stored)


def _read_fold_scores(reader: Reader, folder: str, classes: NDArray) -> FoldScores | None:
    member = f"{folder}/held_out.json"
    if member not in reader:
        return None
    told = reader.json(member)
    rows = reader.rows(f"{folder}/rows.npy")
    codes = reader.codes(f"{folder}/labels.npy", len(rows), len(classes))
    C = reader.array(f"{folder}/C.npy", np.float64, None, None)
    fold = reader.array(f"{folder}/fold.npy", np.int64, len(C), len(rows))
    shape = (len(C), len(rows)) if len(classes) == 2 else (len(C), len(rows), len(classes))
    decision = reader.array(f"{folder}/decision.npy", np.float64, *shape)
    with reader.part(member):
        if C.shape[1] < 2 or not ((fold >= 0) & (fold < C.shape[1])).all() or np.isinf(decision).any():
            raise ValueError("its folds do not fit together")
        if told.get("afresh") not in (None, True, False):
            raise ValueError("it does not say what was chosen in its folds")
        if (C <= 0).any() or not all(type(told[name]) is bool for name in ("chosen", "held_back")):
            raise ValueError("it does not say how C came about")
        found = FoldScores(
            y=classes[codes],
            classes=classes,
            rows=rows,
            fold=fold.astype(np.intp),
            decision=decision,
            C=C,
            chosen=told["chosen"],
            scoring=scoring_name(told["scoring"]),
            held_back=told["held_back"],
            seconds=float(told["seconds"]),
            afresh=told.get("afresh"),
        )
        if any(not len(found.held_out(at)) for at in found.done):
            raise ValueError("a fold that is done has no decision")
        return found


def _read_searched(stored: Mapping[str, Any] | None) -> Searched | None:
    """None in files of earlier versions, too."""
    if stored is None:
        return None
    if type(stored["drew"]) is not bool:
        raise ValueError("it does not say whether a search found its drawing")
    return Searched(read_split(stored["split"]), number(stored["C"]), stored["drew"])


def _read_positive(code: object, classes: NDArray) -> Any:
    if code is None:
        return None
    if type(code) is not int or not 0 <= code < len(classes):
        raise ValueError("the positive class is none of the classes")
    return classes[code]


def read_path(
    reader: Reader, folder: str, points: object, spn: SPN, classes: NDArray, y: NDArray
) -> RegularizationPath | None:
    if points == 0:
        return None
    if type(points) is not int:
        raise ValueError("the number of points of the path is not a whole number")
    C = reader.floats(f"{folder}/path/C.npy", points, at_least=0.0)
    solutions = [_read_solution(reader, f"{folder}/path/{k}", spn, classes, y) for k in range(points)]
    return RegularizationPath(C, tuple(solutions))
