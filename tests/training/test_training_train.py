"""A run tells the numbers of the library, keeps no matrix, and its model reads raw rows."""

import gc
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score
from sklearn.metrics.pairwise import rbf_kernel

from spnmkl import SPN, Kernel, Product, SPNMKLClassifier, Sum, solve
from spnmkl.cli.commands import main
from spnmkl.data import Choices, Dataset, Preparation, SplitSettings, load_sample, split_rows
from spnmkl.selection import cross_validate_C, regularization_path
from spnmkl.training.choose import choose_C, trace_C
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

SPLIT = SplitSettings(0.3, 7)


def prepared(sample: str, template: str = "flat", choices: Choices | None = None) -> Prepared:
    dataset = load_sample(sample)
    return prepare(dataset.template(template), dataset, choices or Choices(missing="mean"), SPLIT)


CASES = {
    "two classes": ("breast_cancer", "flat", Choices(), Settings(C=2.0)),
    "three classes": ("wine", "grouped", Choices(), Settings(lam=0.5, p=1.5, class_weight={"cultivar 1": 2.0})),
    "text, gaps and groups": ("clinic", "flat", Choices(missing="mean"), Settings(class_weight="balanced", tol=1e-2)),
    "text as columns": ("clinic", "polynomial", Choices(missing="mean", categorical="one-hot"), Settings()),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_equals_the_classifier(name: str) -> None:
    sample, template, choices, settings = CASES[name]
    dataset = load_sample(sample)
    spn = dataset.template(template)
    run = train(prepare(spn, dataset, choices, SPLIT), settings)

    rows = split_rows(dataset, SPLIT.test_share, SPLIT.seed)
    features = dataset.frame[list(dataset.features)]
    preparation = Preparation.fit(features, choices, rows.train)
    X, X_test = (preparation.transform(features.iloc[part]) for part in (rows.train, rows.test))
    model = SPNMKLClassifier(preparation.mapped(spn), **settings.model_options()).fit(X, dataset.y[rows.train])

    assert run.model is not None
    assert run.solution.beta == model.beta_
    assert run.solution.objective == model.objective_
    assert (run.n_train, run.n_test) == (len(rows.train), len(rows.test))
    np.testing.assert_array_equal(run.test_scores.decision, model.decision_function(X_test))
    np.testing.assert_allclose(run.train_scores.decision, model.decision_function(X), atol=1e-9)
    assert run.test_scores.accuracy == accuracy_score(dataset.y[rows.test], model.predict(X_test))
    for attribute, value in vars(model).items():
        if attribute.endswith("_") and isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(run.model, attribute), value, err_msg=attribute)
    assert run.model.get_params() == model.get_params()
    assert run.model.n_features_in_ == model.n_features_in_
    assert vars(run.model).keys() == vars(model).keys()


def test_the_model_reads_raw_rows_on_the_command_line(tmp_path: Path) -> None:
    dataset = load_sample("clinic")
    run = train(prepared("clinic"), Settings())
    assert run.model is not None
    run.model.save(tmp_path / "model.spnmkl")
    dataset.frame.iloc[run.test].to_csv(tmp_path / "new.csv", index=False)
    files = [str(tmp_path / name) for name in ("model.spnmkl", "new.csv", "out.csv")]
    assert main(["predict", files[0], files[1], "--out", files[2], "--scores"]) == 0
    written = pd.read_csv(files[2])
    np.testing.assert_array_equal(written["prediction"].astype(str), run.test_scores.predicted)
    np.testing.assert_allclose(written["score"], run.test_scores.decision, atol=1e-9)


def test_the_model_keeps_what_the_command_line_keeps(tmp_path: Path) -> None:
    frame = load_sample("breast_cancer").frame.iloc[:120, -3:]
    dataset = Dataset("few columns", frame, "diagnosis")
    frame.to_csv(tmp_path / "table.csv", index=False)
    files = [str(tmp_path / "table.csv"), str(tmp_path / "model.spnmkl")]
    drawn = ["--structure", "flat"]
    assert main(["fit", files[0], "--label", "diagnosis", "--out", files[1], "--quiet", *drawn]) == 0
    run = train(prepare(dataset.template("flat"), dataset, Choices(), SPLIT), Settings())
    assert run.model is not None
    stored = SPNMKLClassifier.load(files[1]).extra_
    assert run.model.extra_.keys() >= stored.keys()
    assert run.model.extra_["label"] == stored["label"]
    assert run.model.extra_["preparation"].keys() == stored["preparation"].keys()


def given(n: int = 90) -> tuple[Dataset, Dataset]:
    """The same kernels twice: computed from columns, and as matrices."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, "plus", "minus")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    matrices = {"left": rbf_kernel(X[:, :2], gamma=0.5), "right": rbf_kernel(X[:, 2:], gamma=0.5)}
    return Dataset("columns", frame, "y"), Dataset("matrices", frame[["y"]], "y", matrices=matrices)


def test_given_matrices_train_and_score_as_the_columns_they_come_from() -> None:
    columns, matrices = given()
    seen = SPN(
        Sum(
            Product(Kernel("rbf", gamma=0.5, features=["a", "b"], label="left"), id="l"),
            Product(Kernel("rbf", gamma=0.5, features=["c", "d"], label="right"), id="r"),
        )
    )
    taken = SPN(
        Sum(Product(Kernel("precomputed", label="left"), id="l"), Product(Kernel("precomputed", label="right"), id="r"))
    )
    settings = Settings(C=5.0, tol=1e-6)
    by_column = train(prepare(seen, columns, Choices(numeric="as is"), SPLIT), settings)
    by_matrix = train(prepare(taken, matrices, Choices(), SPLIT), settings)
    assert by_matrix.model is None
    assert by_matrix.solution.status == "optimal"
    assert by_matrix.solution.objective == pytest.approx(by_column.solution.objective, rel=1e-6)
    assert by_matrix.solution.beta == pytest.approx(by_column.solution.beta, rel=1e-2, abs=1e-6)
    np.testing.assert_allclose(by_matrix.test_scores.decision, by_column.test_scores.decision, atol=1e-2)
    assert by_matrix.test_scores.accuracy == by_column.test_scores.accuracy > 0.8


def reachable(root: object) -> Iterator[object]:
    """Every object that is held, however deep; modules, types and functions are nobody's own."""
    seen: dict[int, object] = {}
    stack = [root]
    while stack:
        item = stack.pop()
        if id(item) in seen or isinstance(item, type) or type(item).__name__ in ("module", "function"):
            continue
        seen[id(item)] = item
        stack.extend(gc.get_referents(item))
        if isinstance(item, np.ndarray) and item.base is not None:
            stack.append(item.base)
        yield item


def largest_array(root: object) -> int:
    return max(item.size for item in reachable(root) if isinstance(item, np.ndarray))


@pytest.mark.parametrize("template", ["flat", "grouped"])
def test_a_run_holds_no_matrix_over_the_rows(template: str) -> None:
    known = prepared("breast_cancer", template)
    cross_validation = choose_C(known, Settings(tol=1e-2), folds=2, C=[1.0])
    path = trace_C(known, Settings(tol=1e-2), C=[1.0, 2.0])
    run = replace(train(known, Settings()), cross_validation=cross_validation, path=path)
    assert largest_array(run) <= known.X_train.size < known.n**2 / 10
    assert largest_array([run, known]) == known.n**2  # where there are matrices, they are found


def test_stopping_keeps_the_best_so_far() -> None:
    known, seen = prepared("digits", "grouped"), []
    run = train(known, Settings(tol=1e-6), callback=lambda record: bool(seen.append(record)) or len(seen) < 2)
    assert run.solution.status == "interrupted"
    assert len(seen) == len(run.solution.history) == 2
    assert run.solution.history[-1].beta == seen[-1].beta
    assert run.test_scores.accuracy > 0.5


def test_a_C_that_is_too_small_warns_nobody() -> None:
    known = prepared("wine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = train(known, Settings(C=1e-6))
    assert set(run.solution.beta.values()) == {0.0}
    assert run.test_scores.accuracy == pytest.approx(np.mean(known.y_test == run.test_scores.predicted[0]))
    assert run.model is not None
    assert not run.model.kernels_


def test_what_a_run_remembers() -> None:
    dataset = load_sample("wine")
    spn, choices, settings = dataset.template("flat"), Choices(numeric="as is"), Settings(C=3.0)
    run = train(prepare(spn, dataset, choices, SPLIT), settings)
    assert (run.spn, run.choices, run.settings, run.split) == (spn, choices, settings, SPLIT)
    assert (run.dataset_name, run.label) == ("wine", "cultivar")
    assert run.views.keys() == dataset.views.keys()
    assert run.seconds > 0
    renamed = replace(run, name="Run 3")
    assert isinstance(renamed, Run)
    assert (renamed.name, renamed.solution) == ("Run 3", run.solution)


def test_choosing_C_is_the_library_s_and_keeps_groups_together() -> None:
    dataset = load_sample("clinic")
    known = prepared("clinic")
    settings, C = Settings(tol=1e-2, class_weight="balanced"), [0.5, 5.0]
    points: list[int] = []
    found = choose_C(known, settings, 3, lambda point: points.append(point.done), C)
    same = {"folds": 3, "random_state": SPLIT.seed, "tol": 1e-2, "class_weight": "balanced"}
    problem = (known.mapped, known.kernels, known.y_train, C)
    patients = dataset.frame[dataset.group].iloc[known.train].to_numpy()
    expected = cross_validate_C(*problem, groups=patients, **same)  # type: ignore[arg-type]
    apart = cross_validate_C(*problem, **same)  # type: ignore[arg-type]
    assert points == [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert (found.scores != apart.scores).any()
    assert found.best_C == expected.best_C


def test_tracing_C_is_the_library_s() -> None:
    known = prepared("wine")
    found = trace_C(known, Settings(p=2.0, C=77.0), C=[0.1, 1.0])
    expected = regularization_path(known.mapped, known.kernels, known.y_train, [0.1, 1.0], p=2.0)
    for v, weights in found.beta.items():
        np.testing.assert_allclose(weights, expected.beta[v], rtol=1e-6)


def test_the_solution_is_over_the_prepared_kernels() -> None:
    known = prepared("wine", "grouped")
    run = train(known, Settings())
    assert run.solution.certify(known.kernels).gap == pytest.approx(run.solution.gap, abs=1e-9)
    direct = solve(known.mapped, known.kernels, known.y_train)
    assert direct.beta == pytest.approx(run.solution.beta)
