"""A project in one file: what goes in comes out, and a bad file is refused in one sentence."""

import io
import json
import math
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import small_dataset, small_structure, trained, without_scores

from spnmkl import SPN, Kernel, Product, Sum, untrusted
from spnmkl.data import Choices, Dataset, SplitSettings, load_sample
from spnmkl.data import unpacking as unpacking_module
from spnmkl.errors import DataError, SPNMKLError
from spnmkl.project import archive
from spnmkl.project.project_file import Pages, Project, load_project, save_project
from spnmkl.project.stored_contest import Compared
from spnmkl.project.stored_data import DataUse
from spnmkl.project.stored_finding import FOLDS, PATH, SUGGESTED, Found, write_found
from spnmkl.reporting.endings import ending
from spnmkl.search import Outer, Score, Suggestion, Suggestions
from spnmkl.study.contest import Contest, Plan, compete
from spnmkl.study.entrants import entrants
from spnmkl.study.nested import resample
from spnmkl.training.choose import choose_C, trace_C
from spnmkl.training.choosing import Choosing
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run, Searched
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.workspace.exchange import named_apart

CHOICES = Choices(numeric="as is", missing="median", categorical="one-hot")
SPLIT = SplitSettings(0.3, 7)
SUGGESTED_MEMBER = "searches/suggested.zip"
SETTINGS = Settings(C=2.5, p={"joint": 1.5}, class_weight={"bright": 2.0, "dull": 1.0}, max_iter=50)


@cache
def matrix_run() -> tuple[SPN, Dataset, Run]:
    """A run over given matrices, which has no model."""
    dataset = small_dataset(3)
    X = dataset.frame[[c for c in dataset.frame if c != "class"]].to_numpy()
    dataset = replace(dataset, matrices={"linear <b>": X @ X.T, "rbf": np.exp(-((X[:, None] - X) ** 2).sum(axis=2))})
    spn = SPN(Sum(*(Product(Kernel("precomputed", label=name)) for name in dataset.matrices)))
    prepared = prepare(spn, dataset, Choices(), SplitSettings())
    return spn, dataset, train(prepared, Settings())


@cache
def full_run() -> Run:
    """With a cross-validation, a path, and scores over folds of which one is not done."""
    found = trained()
    validation = choose_C(found.prepared, Settings(), folds=2, C=[0.5, 5.0])
    path = trace_C(found.prepared, Settings(), C=[0.5, 5.0])
    chosen = Choosing(found.run.spn, Choices("auto"), Settings(max_time=9.0), ("Weights: because.",), 1.5, 120.0)
    given: dict[str, Any] = {"cross_validation": validation, "path": path, "positive": "bright", "choosing": chosen}
    run = replace(found.run, name="Run <1>", **given)
    given = run.spn, found.dataset, run.choices, run.split, run.settings
    return run.with_fold_scores(list(resample(*given, chosen=False, afresh=True, plan=Plan(folds=3, repeats=2)))[4])


@cache
def saved(with_data: bool = True) -> bytes:
    runs = (full_run(), trained(3).run)
    return save_project(
        small_structure(),
        small_dataset(),
        CHOICES,
        SPLIT,
        SETTINGS,
        runs,
        with_data,
        small_comparison(),
        small_searches(),
    )


@cache
def small_comparison() -> Compared:
    """A drawing and one other method, each with a result that is no number."""
    spn, dataset, plan = small_structure(), small_dataset(), Plan(folds=2, inner=2, points=1)
    who = entrants(spn, dataset, CHOICES).among(["average kernel", "lasso"])
    results = tuple(compete(who, dataset, CHOICES, SPLIT, plan))
    contest = replace(Contest.of(who, plan, dataset, Choices(), SPLIT), results=results)
    return Compared(contest, spn, CHOICES, SPLIT, SETTINGS)


def test_a_comparison_comes_back() -> None:
    kept, found = small_comparison(), load_project(saved()).compared
    assert found is not None
    for name in ("plan", "methods", "total", "dataset_name", "n_rows", "remarks", "reference", "drawn", "over_columns"):
        assert getattr(found.contest, name) == getattr(kept.contest, name), name
    assert found.contest.over_columns == ("lasso",) and found.contest.complete
    pd.testing.assert_frame_equal(found.contest.table, kept.contest.table)
    pd.testing.assert_frame_equal(found.contest.summary(), kept.contest.summary())
    assert list(found.contest.portraits) == list(kept.contest.portraits) == ["your drawing", "average kernel"]
    for name, portrait in found.contest.portraits.items():
        was = kept.contest.portraits[name]
        assert (portrait.spn, portrait.beta, portrait.shares) == (was.spn, was.beta, was.shares)
    assert (found.spn, found.choices, found.split, found.settings) == (kept.spn, CHOICES, SPLIT, SETTINGS)


@cache
def small_searches() -> dict[str, Found]:
    run = full_run()
    assert run.cross_validation is not None and run.path is not None
    flat = Suggestion(
        small_structure(), "K₁ + K₂", -4.5, 0.0, -6.5, {}, {}, math.nan, Score(), Score(), {}, True, False, "Flat."
    )
    scored = Score(0.75, math.nan, 2, "roc_auc", 0.5, True)
    weights = dict.fromkeys(small_structure().products, 0.5)
    best = replace(flat, C=2.0, score=scored, weights=weights, certified=weights, recurs={"K₁": 0.5}, is_flat=False)
    suggested = Suggestions(
        (best, flat), True, True, "Found.", 7, 40, 10, 2, Outer(scored, Score()), "budget", 1.5, {"a": ("x", "y")}
    )
    values = {FOLDS: run.cross_validation, PATH: run.path, SUGGESTED: suggested}
    return {kind: Found(run.spn, CHOICES, SPLIT, SETTINGS, value) for kind, value in values.items()}


def test_what_searches_found_comes_back() -> None:
    kept, found = small_searches(), load_project(saved()).searches
    assert found.keys() == kept.keys()
    for kind, each in found.items():
        assert (each.spn, each.choices, each.split, each.settings) == (kept[kind].spn, CHOICES, SPLIT, SETTINGS)
    np.testing.assert_array_equal(found[FOLDS].value.scores, kept[FOLDS].value.scores)
    for mine, other in zip(found[PATH].value.solutions, kept[PATH].value.solutions, strict=True):
        same_solution(mine, other)
    assert vars(found[SUGGESTED].value).keys() == vars(kept[SUGGESTED].value).keys()
    for name, value in vars(kept[SUGGESTED].value).items():
        assert str(getattr(found[SUGGESTED].value, name)) == str(value), name
    for mine, other in zip(found[SUGGESTED].value, kept[SUGGESTED].value, strict=True):
        assert {k: str(v) for k, v in vars(mine).items()} == {k: str(v) for k, v in vars(other).items()}
        assert mine.spn == other.spn


def searched_otherwise(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The project with another search for a drawing in it."""
    with zipfile.ZipFile(io.BytesIO(saved())) as archive:
        inner = archive.read(SUGGESTED_MEMBER)
    return changed({SUGGESTED_MEMBER: edited(change, "suggestions.json", inner)})


def test_a_project_of_version_3_has_no_searches() -> None:
    def older(document: dict[str, Any]) -> None:
        document.update(version=3)
        del document["searches"]

    gone: dict[str, bytes | None] = {f"searches/{kind}.zip": None for kind in small_searches()}
    found = load_project(changed(gone, edited(older)))
    assert found.searches == {} and found.compared is not None


def test_a_project_of_version_2_has_no_comparison() -> None:
    def older(document: dict[str, Any]) -> None:
        document.update(version=2, searches=[])
        del document["comparison"]

    gone: dict[str, bytes | None] = {f"searches/{kind}.zip": None for kind in small_searches()}
    base = changed(gone, edited(older))
    assert load_project(changed({"comparison.json": None}, base)).compared is None
    with pytest.raises(DataError, match=r"it holds 'comparison.json', which no project has"):
        load_project(base)


def compared_otherwise(change: Callable[[dict[str, Any]], object]) -> bytes:
    return edited(change, "comparison.json")


def same_solution(a: Any, b: Any) -> None:
    assert a.spn == b.spn
    for name in ("beta", "p", "kkt_residual", "witness_beta", "pruned", "status", "solver", "objective", "dual_bound"):
        assert getattr(a, name) == getattr(b, name), name
    for name in ("alpha", "witness_alpha", "intercept", "C", "y", "classes"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert (a.gap, a.lam, a.tol) == (b.gap, b.lam, b.tol)
    assert a.history == b.history


def same_run(a: Run, b: Run) -> None:
    same_solution(a.solution, b.solution)
    for name in ("name", "spn", "settings", "choices", "split", "dataset_name", "label", "seconds", "preparation"):
        assert getattr(a, name) == getattr(b, name), name
    assert dict(a.views) == dict(b.views)
    assert np.array_equal(a.train, b.train)
    assert np.array_equal(a.test, b.test)
    for mine, other in ((a.train_scores, b.train_scores), (a.test_scores, b.test_scores)):
        assert np.array_equal(mine.decision, other.decision)
        assert np.array_equal(mine.predicted, other.predicted)
        assert mine.accuracy == other.accuracy


def test_a_project_comes_back_as_it_was() -> None:
    project = load_project(saved())
    assert project.spn == small_structure()
    assert (project.choices, project.split, project.settings) == (CHOICES, SPLIT, SETTINGS)
    dataset = small_dataset()
    assert project.dataset is not None
    pd.testing.assert_frame_equal(project.dataset.frame, dataset.frame)
    assert (project.dataset.name, project.dataset.label) == (dataset.name, dataset.label)
    assert dict(project.dataset.views) == dict(dataset.views)
    for a, b in zip(project.runs, (full_run(), trained(3).run), strict=True):
        same_run(a, b)
    validation, expected = project.runs[0].cross_validation, full_run().cross_validation
    assert validation is not None
    assert expected is not None
    assert np.array_equal(validation.scores, expected.scores)
    assert all(np.array_equal(validation.beta[v], expected.beta[v]) for v in expected.beta)
    assert validation.best_C == expected.best_C
    path, expected_path = project.runs[0].path, full_run().path
    assert path is not None
    assert expected_path is not None
    for a, b in zip(path.solutions, expected_path.solutions, strict=True):
        same_solution(a, b)


def test_what_was_chosen_on_pages_and_what_a_search_knew_come_back() -> None:
    run = replace(full_run(), searched=Searched(SPLIT, float("nan"), True))
    pages = Pages(False, "Run", 5, ("Run",), "roc_auc", ("lasso",))
    given = small_structure(), small_dataset(), CHOICES, SPLIT, SETTINGS, (run,)
    again = load_project(save_project(*given, pages=pages))
    assert again.pages == pages
    (searched,) = [run.searched for run in again.runs]
    assert searched is not None and (searched.split, searched.drew) == (SPLIT, True) and np.isnan(searched.C)
    assert load_project(save_project(*given)).pages == Pages(), "as files of earlier releases, which have none"


def test_scores_over_folds_come_back_and_so_do_probabilities() -> None:
    mine, other = load_project(saved()).runs[0], full_run()
    assert mine.positive == other.positive == "bright" and mine.fold_scores is not None
    for name in ("y", "classes", "rows", "fold", "decision", "C"):
        np.testing.assert_array_equal(getattr(mine.fold_scores, name), getattr(other.fold_scores, name))
    assert mine.fold_scores.how == other.fold_scores.how and mine.fold_scores.n_done == 5
    assert mine.fold_scores.afresh is other.fold_scores.afresh is False
    assert mine.choosing == other.choosing and other.reasons == ("Weights: because.",)
    assert [m.value for m in mine.fold_scores.measures()] == [m.value for m in other.fold_scores.measures()]
    np.testing.assert_array_equal(mine.test_probabilities, other.test_probabilities)
    assert mine.model.extra_["scores"] == other.model.extra_["scores"] == other.fold_scores.described()
    assert load_project(saved()).runs[1].fold_scores is None


def test_models_predict_as_before() -> None:
    model, before = load_project(saved()).runs[1].model, trained(3).run.model
    X = trained(3).prepared.X_test
    assert model is not None
    assert before is not None
    assert np.array_equal(model.decision_function(X), before.decision_function(X))
    assert model.extra_ == before.extra_


def test_the_same_training_on_what_was_opened_gives_the_same_weights() -> None:
    project = load_project(save_project(small_structure(), small_dataset(), Choices(), SPLIT, Settings(C=3.0)))
    assert project.dataset is not None
    again = [
        train(prepare(project.spn, data, project.choices, project.split), project.settings, n_threads=1)
        for data in (project.dataset, small_dataset())
    ]
    assert again[0].solution.beta == again[1].solution.beta


@pytest.mark.parametrize("name", ["clinic", "wine", "known"])
def test_tables_keep_their_types_gaps_and_roles(name: str) -> None:
    dataset = load_sample(name)
    project = load_project(save_project(small_structure(), dataset, Choices(), SPLIT, Settings()))
    assert project.dataset is not None
    # None and nan are the same gap.
    pd.testing.assert_frame_equal(project.dataset.frame.fillna(np.nan), dataset.frame.fillna(np.nan))
    roles = ("label", "group", "ignored", "features", "numeric", "categorical", "feature_views")
    assert all(getattr(project.dataset, role) == getattr(dataset, role) for role in roles)


def test_without_data_the_rest_opens_and_says_what_is_missing() -> None:
    project = load_project(saved(with_data=False))
    assert project.dataset is None
    assert len(project.runs) == 2
    assert project.data.missing_sentence == (
        "The data 'small' (90 rows and 7 columns) are not in the project; load them on the page Data to train again or "
        "to look into a run."
    )
    brought = Dataset("other.csv", small_dataset().frame)
    assert project.data.applied(brought).label == "class"
    assert dict(project.data.applied(brought).views) == dict(small_dataset().views)
    with pytest.raises(DataError, match="but these data lack 'colour_0'"):
        project.data.applied(Dataset("x", small_dataset().frame.drop(columns="colour_0")))
    with pytest.raises(DataError, match="with 90 rows, but these data have 5 rows"):
        project.data.applied(Dataset("x", small_dataset().frame.head()))
    # and it can be saved again
    again = save_project(project.spn, project.data, CHOICES, SPLIT, SETTINGS, project.runs)
    assert load_project(again).data == project.data


def test_runs_over_given_matrices_are_kept_without_a_model() -> None:
    spn, dataset, run = matrix_run()
    project = load_project(save_project(spn, dataset, Choices(), SplitSettings(), Settings(), [run]))
    assert project.dataset is not None
    assert list(project.dataset.matrices) == list(dataset.matrices)
    assert all(np.array_equal(project.dataset.matrices[name], K) for name, K in dataset.matrices.items())
    assert project.runs[0].model is None
    same_run(project.runs[0], run)
    bare = load_project(save_project(spn, dataset, Choices(), SplitSettings(), Settings(), [run], with_data=False))
    assert "and the kernel matrices 'linear <b>', 'rbf'" in bare.data.missing_sentence
    prepared = prepare(spn, project.dataset, Choices(), SplitSettings())
    assert project.runs[0].solution.certify(prepared.kernels).gap == pytest.approx(run.solution.gap)


def test_methods_and_endings_of_all_versions_come_back() -> None:
    spn, dataset, run = matrix_run()
    first, *others = run.solution.history
    history = (first, *(replace(record, method="interior") for record in others))
    told = replace(run, solution=replace(run.solution, status="time_limit", history=history))
    project = save_project(spn, dataset, Choices(), SplitSettings(), Settings(max_time=60), [told])
    assert load_project(project).settings.max_time == 60
    same_run(load_project(project).runs[0], told)
    member = "runs/0/solution/solution.json"
    with zipfile.ZipFile(io.BytesIO(project)) as archive:
        assert member in archive.namelist(), archive.namelist()
        document = json.loads(archive.read(member))
    assert document.pop("methods") == [record.method for record in history]
    for solver, method in (("newton", "newton"), ("paper", "paper")):
        old = json.dumps(document | {"status": "stalled", "solver": solver}).encode()
        solution = load_project(changed({member: old}, project)).runs[0].solution
        assert {record.method for record in solution.history} == {method}
        assert ending(solution).startswith("No further progress was possible")
    with pytest.raises(SPNMKLError, match="the history's methods are not"):
        load_project(changed({member: json.dumps(document | {"methods": ["magic"]}).encode()}, project))


def test_a_drawing_that_is_not_valid_yet_is_kept() -> None:
    spn = SPN.from_dict(
        {"format": "spnmkl/structure", "version": 1, "nodes": [{"id": "s", "kind": "sum"}], "edges": []}
    )
    assert load_project(save_project(spn, small_dataset(), CHOICES, SPLIT, SETTINGS)).spn == spn


def test_a_project_too_large_to_be_opened_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking_module, "MAX_FILE", 1000)
    with pytest.raises(DataError, match="leave out the data, or some runs"):
        save_project(small_structure(), small_dataset(), CHOICES, SPLIT, SETTINGS)


def test_a_table_that_cannot_be_saved_is_named() -> None:
    mixed = Dataset("mixed", pd.DataFrame({"a": pd.Series([1, "x", b"y"], dtype=object), "class": ["p", "q", "p"]}))
    with pytest.raises(DataError, match=r"The table 'mixed' cannot be saved \(.*save the project without its data"):
        save_project(small_structure(), mixed, CHOICES, SPLIT, SETTINGS)


def changed(members: dict[str, bytes | None], base: bytes | None = None) -> bytes:
    """The saved project with some members replaced, added, or (None) left out."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(base or saved())) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            if name not in members:
                new.writestr(name, old.read(name))
        for name, data in members.items():
            if data is not None:
                new.writestr(name, data)
    return buffer.getvalue()


def edited(
    change: Callable[[dict[str, Any]], object], member: str = "project.json", base: bytes | None = None
) -> bytes:
    with zipfile.ZipFile(io.BytesIO(base or saved())) as old:
        document = json.loads(old.read(member))
    change(document)
    return changed({member: json.dumps(document).encode()}, base)


def npy(values: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()


class Evil:
    """Unpickling it would be heard of."""

    def __reduce__(self) -> tuple[object, ...]:
        return print, ("executed",)


def lying_npy() -> bytes:
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (100000000000,), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header + b"\0" * 80


DAMAGED = "The project file 'project.zip' is damaged: "

# What the file holds, and a part of the sentence.
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "is empty"),
    "text": (lambda: b"hello", "is not a project of spnmkl"),
    "pickle": (lambda: pickle.dumps(Evil()), "is not a project of spnmkl"),
    "other zip": (lambda: changed({"project.json": None}), "is not a project of spnmkl"),
    "other format": (lambda: edited(lambda d: d.update(format="x")), "is not a project of spnmkl"),
    "cut short": (lambda: saved()[:-100], "is damaged or cut short"),
    "version": (
        lambda: edited(lambda d: d.update(version=5)),
        "has version '5', but this release reads versions 1 to 4",
    ),
    "version as text": (lambda: edited(lambda d: d.update(version="1")), "has version '1'"),
    "no JSON": (lambda: changed({"project.json": b"{"}), DAMAGED + "'project.json' cannot be read"),
    "list": (lambda: changed({"project.json": b"[]"}), "it is not a JSON object"),
    "NaN": (lambda: changed({"project.json": b'{"version": NaN}'}), "it holds NaN"),
    "half a sign": (lambda: edited(lambda d: d["data"].update(name="a\ud800")), "it holds half of a sign"),
    "half a sign in a run": (
        lambda: edited(lambda d: d.update(dataset_name="\udfff"), "runs/0/run.json"),
        "half of a sign",
    ),
    "half a sign as it is": (lambda: changed({"project.json": b'{"a": "\xed\xa0\x80"}'}), DAMAGED + "'project.json'"),
    "deep": (lambda: changed({"project.json": b"[" * 200_000}), DAMAGED + "'project.json'"),
    "not text": (lambda: changed({"project.json": b"\xff\xfe{}"}), DAMAGED + "'project.json'"),
    "key missing": (lambda: edited(lambda d: d.pop("choices")), "'choices' is missing"),
    "choices": (lambda: edited(lambda d: d.update(choices={"numeric": 1})), "or 'as is', but it is '1'"),
    "choice": (lambda: edited(lambda d: d["choices"].update(numeric="x")), "or 'as is', but it is 'x'"),
    "unknown choice": (lambda: edited(lambda d: d["choices"].update(more="x")), DAMAGED + "'project.json'"),
    "split": (lambda: edited(lambda d: d.update(split={"test_share": 2.0, "seed": 0})), "a share between 0 and 1"),
    "seed": (lambda: edited(lambda d: d["split"].update(seed="0")), "a seed that is a whole number"),
    "settings": (lambda: edited(lambda d: d["settings"].update(C=-1)), "C must be a finite number above 0"),
    "structure": (lambda: edited(lambda d: d.update(structure=[])), "A structure must be a mapping"),
    "views": (lambda: edited(lambda d: d["data"].update(views=[])), DAMAGED + "'project.json'"),
    "columns": (lambda: edited(lambda d: d["data"].update(columns="abc")), "a list of different texts"),
    "label": (lambda: edited(lambda d: d["data"].update(label="nowhere")), "There is no column 'nowhere'"),
    "label not text": (lambda: edited(lambda d: d["data"].update(label=1)), "a text was expected"),
    "rows": (lambda: edited(lambda d: d["data"].update(n_rows=10**12)), "n_rows is not a number of rows"),
    "other rows": (lambda: edited(lambda d: d["data"].update(n_rows=5)), "'data.parquet' cannot be read"),
    "runs": (lambda: edited(lambda d: d.update(runs=10**9)), "runs must be a number up to 500"),
    "more runs": (lambda: edited(lambda d: d.update(runs=3)), "'runs/2/run.json' cannot be read (it is missing)"),
    "fewer runs": (lambda: edited(lambda d: d.update(runs=1)), "it holds 'runs/1/"),
    "no table": (lambda: changed({"data.parquet": None}), "'data.parquet' cannot be read (it is missing)"),
    "bad table": (lambda: changed({"data.parquet": b"PAR1 and so on"}), "'data.parquet' cannot be read"),
    "pickled table": (lambda: changed({"data.parquet": pickle.dumps(Evil())}), "'data.parquet' cannot be read"),
    "traversal": (lambda: changed({"../../evil.txt": b"x"}), "it holds '../../evil.txt', which no project has"),
    "absolute": (lambda: changed({"/etc/passwd": b"x"}), "which no project has"),
    "objects": (
        lambda: changed({"runs/0/train.npy": npy(np.array([Evil()], dtype=object), allow_pickle=True)}),
        "'runs/0/train.npy' cannot be read (it holds Python objects, which are never loaded",
    ),
    "pickle as array": (lambda: changed({"runs/0/train.npy": pickle.dumps(Evil())}), "'runs/0/train.npy' cannot be"),
    "lying array": (lambda: changed({"runs/0/train.npy": lying_npy()}), "its header does not fit its data"),
    "negative rows": (lambda: changed({"runs/0/train.npy": npy(np.arange(-1, 55))}), "ascending order from 0"),
    "few rows": (lambda: changed({"runs/0/train.npy": npy(np.arange(3))}), "but the weights were learned from"),
    "float rows": (lambda: changed({"runs/0/test.npy": npy(np.arange(3.0))}), "not int64 of shape (any)"),
    "labels": (lambda: changed({"runs/0/test_labels.npy": npy(np.full(24, 9))}), "not from 0 to 1"),
    "infinite": (lambda: changed({"runs/0/test_decision.npy": npy(np.full(24, np.inf))}), "not finite"),
    "model": (lambda: changed({"runs/0/model.spnmkl": b"PK\x03\x04 nonsense"}), "'runs/0/model.spnmkl' cannot be read"),
    "no model": (lambda: changed({"runs/0/model.spnmkl": None}), "'runs/0/run.json' cannot be read"),
    "run name": (lambda: edited(lambda d: d.update(name=3), "runs/0/run.json"), "a text was expected"),
    "run views": (
        lambda: edited(lambda d: d.update(views={"v": ["x"]}), "runs/0/run.json"),
        "a view names a leaf",
    ),
    "seconds": (lambda: edited(lambda d: d.update(seconds="x"), "runs/0/run.json"), "'runs/0/run.json' cannot be"),
    "other structure": (
        lambda: edited(lambda d: d.update(structure=small_structure().replace("p6", p=2).to_dict()), "runs/0/run.json"),
        "its structure is not that of the run",
    ),
    "points": (lambda: edited(lambda d: d.update(path_points=9), "runs/0/run.json"), "'runs/0/path/C.npy'"),
    "folds": (lambda: changed({"runs/0/folds/beta.npy": npy(np.zeros((2, 2)))}), "'runs/0/folds/beta.npy'"),
    "held out": (lambda: changed({"runs/0/held_out/fold.npy": npy(np.full((2, 57), 7))}), "do not fit together"),
    "how C came about": (
        lambda: edited(lambda d: d.update(chosen="perhaps"), "runs/0/held_out/held_out.json"),
        "how C came about",
    ),
    "positive": (lambda: edited(lambda d: d.update(positive=2), "runs/0/run.json"), "the positive class is none of"),
    "weights": (lambda: changed({"runs/0/path/0/alpha.npy": npy(np.full((1, 56), -1.0))}), "'runs/0/path/0/alpha.npy'"),
    "comparison": (lambda: edited(lambda d: d.update(comparison=1)), "comparison must be true or false"),
    "no comparison": (lambda: changed({"comparison.json": None}), "'comparison.json' cannot be read (it is missing)"),
    "unasked comparison": (lambda: edited(lambda d: d.update(comparison=False)), "it holds 'comparison.json'"),
    "pages": (lambda: edited(lambda d: d.update(pages={"by_hand": 1})), "by_hand must be true or false"),
    "searched": (
        lambda: edited(lambda d: d.update(searched={"drew": 1}), "runs/0/run.json"),
        "it does not say whether a search found its drawing",
    ),
    "searches": (lambda: edited(lambda d: d.update(searches=["x"])), "searches must be some of folds, path, suggested"),
    "search of another kind": (
        lambda: changed({SUGGESTED_MEMBER: write_found(small_searches()[FOLDS])}),
        "it is a search of another kind",
    ),
    "no flat sum": (
        lambda: searched_otherwise(lambda d: d["suggestions"].pop()),
        "the suggestions are not those of a search",
    ),
    "foreign weight": (
        lambda: searched_otherwise(lambda d: d["suggestions"][0]["weights"].update(x=1.0)),
        "the weights of a suggestion are not those of its structure",
    ),
    "methods": (lambda: compared_otherwise(lambda d: d.update(methods=["a", "a"])), "two methods have one name"),
    "reference": (lambda: compared_otherwise(lambda d: d.update(reference="x")), "is none of them"),
    "foreign result": (lambda: compared_otherwise(lambda d: d["entries"][0].update(method="x")), "did not take part"),
    "no such fold": (lambda: compared_otherwise(lambda d: d["entries"][0].update(fold=9)), "a fold that there is not"),
    "twice": (lambda: compared_otherwise(lambda d: d["entries"].append(d["entries"][0])), "two results on one fold"),
    "score": (lambda: compared_otherwise(lambda d: d["entries"][0].update(accuracy=7)), "not between 0 and 1"),
    "score as text": (lambda: compared_otherwise(lambda d: d["entries"][0].update(C="1")), "a number was expected"),
    "count": (lambda: compared_otherwise(lambda d: d["entries"][0].update(active=-1)), "a whole number from 0"),
    "entries": (lambda: compared_otherwise(lambda d: d.update(entries={})), "a list of up to 100,000 results"),
    "plan": (lambda: compared_otherwise(lambda d: d["plan"].update(folds=1)), "the plan is none of a comparison"),
    "scoring": (lambda: compared_otherwise(lambda d: d["plan"].update(scoring="x")), "scoring must be one of"),
    "portrait": (
        lambda: compared_otherwise(lambda d: d["portraits"][0]["beta"].popitem()),
        "not those of its structure",
    ),
    "drawn twice": (
        lambda: compared_otherwise(lambda d: d["portraits"].append(d["portraits"][0])),
        "a method is drawn twice",
    ),
    "status": (
        lambda: edited(lambda d: d.update(status="proved by me"), "runs/0/path/0/solution.json"),
        "the status is unknown",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_refused_in_one_sentence(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    make, sentence = REFUSED[case]
    with pytest.raises(DataError) as caught:
        load_project(make())
    message = str(caught.value)
    assert sentence in message
    assert "\n" not in message
    assert len(message) < 600
    assert "executed" not in capsys.readouterr().out


def test_a_byte_order_mark_before_a_document_is_no_damage() -> None:
    with zipfile.ZipFile(io.BytesIO(saved())) as file:
        marked = {member: b"\xef\xbb\xbf" + file.read(member) for member in ("project.json", "runs/0/run.json")}
    found, known = load_project(changed(marked)), load_project(saved())
    assert (found.spn, found.runs[0].name) == (known.spn, known.runs[0].name)


def test_runs_of_a_file_have_different_names() -> None:
    run, long = trained(3).run, "x" * 70
    names = ("a", "a (3)", "a", "\n", long, long + "y", f"{long[:52]} (6)")
    found = [run.name for run in named_apart([replace(run, name=name) for name in names])]
    assert len(set(found)) == len(names) and max(map(len, found)) <= 60
    assert found[:4] == ["a", "a (3)", "a (4)", "Run 4"]


MUCH = 40 * 2**20


@pytest.mark.parametrize("member", ["runs/0/train.npy", "project.json", "unasked"])
@pytest.mark.parametrize("honest", [True, False])
def test_a_bomb_is_refused_before_it_is_unpacked(member: str, honest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = changed({member: bytes(MUCH)})
    if not honest:
        bomb = bomb.replace(struct.pack("<I", MUCH), struct.pack("<I", 100))  # the size it declares
    monkeypatch.setattr(unpacking_module, "MAX_UNPACKED", MUCH // 2)
    tracemalloc.start()
    with pytest.raises(DataError, match="unpacks to more than 20 MB" if honest else "is damaged"):
        load_project(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MUCH / 4


def test_a_large_document_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_JSON_BYTES", 2**20)
    data = changed({"project.json": b'{"a": "' + b"x" * 2**21 + b'"}'})
    with pytest.raises(DataError, match=r"'project.json' cannot be read \(it is larger than 1 MB\)"):
        load_project(data)


def test_many_members_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted, "MOST_PARTS", 10)
    with pytest.raises(DataError, match="more than 10 parts"):
        load_project(saved())


def test_two_members_of_one_name_are_refused() -> None:
    buffer = io.BytesIO(saved())
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(buffer, "a") as file:
        file.writestr("project.json", b"{}")
    with pytest.raises(DataError, match="two parts of one name"):
        load_project(buffer.getvalue())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(at=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_one_changed_byte_never_breaks_anything(at: float, value: int) -> None:
    data = bytearray(saved(with_data=False))
    data[int(at * len(data))] = value
    try:
        assert isinstance(load_project(bytes(data)), Project)
    except SPNMKLError as error:
        assert "\n" not in str(error)


def test_data_use_describes_any_dataset() -> None:
    for name in ("clinic", "digits"):
        use = DataUse.of(load_sample(name))
        assert len(use.columns) == load_sample(name).frame.shape[1]
        assert use.applied(load_sample(name)).features == load_sample(name).features


@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_that_was_not_scored_stays_so(classes: int) -> None:
    run = without_scores(trained(classes).run)
    data = save_project(small_structure(), small_dataset(), CHOICES, SPLIT, SETTINGS, (run,))
    (found,) = load_project(data, "p.zip").runs
    assert not found.test_scores.scored and not found.train_scores.scored
    assert np.array_equal(found.test_scores.y, run.test_scores.y)
    same_solution(found.solution, run.solution)
