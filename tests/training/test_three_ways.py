"""The library, the command line and the app: of the same rows, settings and structure they learn the same."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from three_views import one_kernel_a_view, three_views

from spnmkl import SPN, Kernel, Product, SPNMKLClassifier, Sum
from spnmkl.cli.commands import main
from spnmkl.data import Choices, Dataset, Joining, Preparation, SplitSettings, join_files, read_file
from spnmkl.training.bring import guessed_dataset
from spnmkl.training.predict import Predictor
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.ui.state import kernel_shelf
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.task import Task

SPLIT, AUTO = SplitSettings(0.3, 5), Choices("auto")
COLUMNS = ["a__1", "a__2", "b__1", "b__2"]
NEAR = Kernel("rbf", gamma=0.5, features=COLUMNS[:2], label="near")
FAR = Kernel("rbf", gamma="median", features=COLUMNS[2:], label="far", normalize="unit_diagonal")
NUMBERS = SPN(Sum(Product(NEAR), Product(FAR), Product(Kernel("linear", features=["b__1"]))))
WORDS = SPN(
    Sum(Product(NEAR, Sum(Product(FAR), Product(Kernel("hamming", features=["colour"])))), Product(Kernel("hamming")))
)


def samples(classes: Sequence[str] = ("no", "yes"), n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame["colour"] = rng.choice(["red", "blue", "grey"], n)
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + (frame["colour"] == "red") + 0.3 * rng.normal(size=n)
    frame["y"] = np.array(classes)[pd.qcut(score, len(classes), labels=False)]
    return frame


def with_holes(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.copy()
    frame.loc[::9, "a__2"] = None
    frame.loc[::13, "b__1"] = None
    frame.loc[4::17, "colour"] = None
    return frame


def in_two_files(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """One for each view, the second in another order and without some rows."""
    frame = frame.assign(code=[f"s{k}" for k in range(len(frame))])
    first, second = frame[["code", *COLUMNS[:2], "y"]], frame[["code", *COLUMNS[2:]]]
    return {"first.csv": first, "second.csv": second.sample(frac=1, random_state=2).iloc[:110]}


def one_file(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {"data.csv": frame}


@dataclass(frozen=True)
class Case:
    """`given` are the options of the command line that say the same as choices and settings."""

    files: dict[str, pd.DataFrame]
    spn: SPN = NUMBERS
    choices: Choices = AUTO
    settings: Settings = field(default_factory=Settings)
    given: tuple[str, ...] = ()
    group: str | None = None
    adjust: tuple[str, ...] = ()
    max_memory: float | None = None


NO_WORDS = ("--ignore", "colour")
CASES = {
    "numbers": Case(one_file(samples().drop(columns="colour"))),
    "as they are, in tiles": Case(
        one_file(samples().drop(columns="colour")),
        choices=Choices(numeric="as is"),
        given=("--no-standardize", "--max-memory", "0"),
        max_memory=0,
    ),
    "filled with the mean, text compared": Case(
        one_file(with_holes(samples())), WORDS, Choices("auto", "mean"), given=("--missing", "mean")
    ),
    "filled with the median, one-hot": Case(
        one_file(with_holes(samples())),
        WORDS,
        Choices("auto", "median", categorical="one-hot"),
        given=("--missing", "median", "--text", "one-hot"),
    ),
    "rows left out, text too": Case(
        one_file(with_holes(samples())),
        choices=Choices("auto", "drop rows", categorical="drop"),
        given=("--missing", "drop-rows", "--text", "drop"),
    ),
    "columns left out": Case(
        one_file(with_holes(samples().drop(columns="colour").assign(colour="red"))),
        SPN(Sum(Product(Kernel("rbf", features=["a__1"])), Product(Kernel("rbf", features=["b__2"])))),
        choices=Choices("auto", "drop columns"),
        given=("--missing", "drop-columns"),
    ),
    "groups": Case(
        one_file(samples().drop(columns="colour").assign(patient=np.arange(120) // 4)),
        given=("--group", "patient"),
        group="patient",
    ),
    "counts, words and measurements, a view lacking, adjusted": Case(
        one_file(three_views()),
        one_kernel_a_view(),
        Choices("auto", views=(("lab", "normal ranks"),), absent="mean"),
        given=("--prepare", "auto", "lab=normal-ranks", "--absent", "mean", "--adjust", "age,batch"),
        adjust=("age", "batch"),
    ),
    "several classes, rows without a label": Case(
        one_file(samples(("high", "low", "middle", "none")).assign(y=lambda f: f["y"].where(f.index % 11 != 0))),
        WORDS,
        settings=Settings(C=4.0, lam=0.5, p=1.5, class_weight="balanced", tol=1e-4),
        given=("--C", "4", "--lam", "0.5", "--p", "1.5", "--class-weight", "balanced", "--tol", "1e-4"),
    ),
    "several files, three classes": Case(
        in_two_files(samples(("u", "v", "w"))), choices=replace(AUTO, absent="mean"),
        settings=Settings(C=2.0, solver="interior"), given=("--C", "2", "--solver", "interior", "--absent", "mean"),
    ),
    "evidence weights, three classes": Case(
        one_file(samples(("u", "v", "w"))), WORDS, settings=Settings(C=2.0, weights="evidence"),
        given=("--C", "2", "--weights", "evidence"),
    ),
}  # fmt: skip


def by_command_line(case: Case, folder: Path) -> tuple[SPNMKLClassifier, pd.DataFrame]:
    """The model and its answers on the whole table."""
    (folder / "s.json").write_text(case.spn.to_json())
    files = [str(folder / name) for name in case.files]
    model, answers = str(folder / "m.spnmkl"), str(folder / "p.csv")
    split = ("--test-share", str(SPLIT.test_share), "--seed", str(SPLIT.seed))
    fit = ["fit", *files, "--label", "y", "--structure", str(folder / "s.json"), "--out", model, *split, *case.given]
    assert main(fit) == 0
    assert main(["predict", model, *files, "--scores", "--out", answers]) == 0
    return SPNMKLClassifier.load(model), pd.read_csv(answers)


def by_app(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Dataset, Run, pd.DataFrame]:
    """The files uploaded, what they look like taken, and trained as the page does."""
    tables = [read_file(name, (folder / name).read_bytes()) for name in case.files]
    dataset = guessed_dataset("data", join_files(tables, Joining())).with_adjust(case.adjust)
    assert (dataset.label, dataset.group) == ("y", case.group)
    prepare = kernel_shelf.prepare
    limit = {"max_memory": case.max_memory}
    monkeypatch.setattr(kernel_shelf, "prepare", lambda *given, **own: prepare(*given, **own | limit))
    trainer = Trainer()
    task = Task(case.spn, dataset, case.choices, SPLIT)
    assert trainer.start("train", task, case.settings, lambda: True).job.join(120)
    trainer.collect()
    assert trainer.failure is None and trainer.book.run is not None
    predictor = Predictor.of_run(trainer.book.run)
    assert predictor is not None
    return dataset, trainer.book.run, predictor.predict(predictor.match(dataset.frame)).table


def by_library(case: Case, dataset: Dataset, run: Run) -> tuple[SPNMKLClassifier, np.ndarray, np.ndarray]:
    """The classifier on the same rows; its decisions, and which rows it can decide on."""
    features = dataset.frame[[*dataset.features, *dataset.adjust]]
    preparation = Preparation.fit(features, case.choices, run.train, views=dataset.views, adjust=dataset.adjust)
    y = dataset.frame["y"].to_numpy()[run.train].astype(str)
    spn, options = preparation.mapped(case.spn), case.settings.model_options()
    model = SPNMKLClassifier(spn, **options, max_memory=case.max_memory)
    model.fit(preparation.transform(features.iloc[run.train]), y)
    usable = preparation.usable(features)
    return model, model.decision_function(preparation.transform(features[usable])), usable


@pytest.mark.parametrize("name", CASES)
def test_the_same_weights_and_answers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    for file, frame in case.files.items():
        frame.to_csv(tmp_path / file, index=False)
    ours, written = by_command_line(case, tmp_path)
    dataset, run, shown = by_app(case, tmp_path, monkeypatch)
    model, decision, usable = by_library(case, dataset, run)

    expected = "evidence" if case.settings.weights == "evidence" else "optimal"
    assert run.solution.status == ours.status_ == model.status_ == expected
    for beta in (ours.beta_, run.solution.beta):
        assert beta == pytest.approx(model.beta_, rel=1e-10, abs=1e-10)
    assert sum(beta > 0 for beta in model.beta_.values()) > 1
    np.testing.assert_array_equal(ours.solution_.y, run.solution.y)
    np.testing.assert_array_equal(ours.solution_.y, model.solution_.y)

    scores = ["score"] if len(model.classes_) == 2 else [f"score_{c}" for c in model.classes_]
    for table in (written, shown):
        np.testing.assert_allclose(table.loc[usable, scores].to_numpy(), decision.reshape(-1, len(scores)), atol=1e-9)
        assert table["prediction"].isna().to_numpy().tolist() == (~usable).tolist()
    assert written["prediction"].dropna().tolist() == shown["prediction"].dropna().tolist()
    assert run.model is not None and ours.extra_ == json.loads(json.dumps(run.model.extra_))
