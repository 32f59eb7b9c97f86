"""Preparation view by view, columns to adjust for and rows without a view, on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from three_views import VIEWS, one_kernel_a_view, three_views

from spnmkl.data import Choices, Dataset, Preparation
from spnmkl.model_file import load_model
from spnmkl.training.predict import stored_preparation

Run = Callable[..., tuple[int, str, str]]
FIT = ("fit", "data.csv", "--label", "y", "--structure", "s.json", "--out", "m.spnmkl")


@pytest.fixture
def folder(folder: Path) -> Path:
    three_views().to_csv("data.csv", index=False)
    three_views(lacking=False).to_csv("whole.csv", index=False)
    Path("s.json").write_text(one_kernel_a_view().to_json())
    return folder


def steps(file: str = "m.spnmkl") -> dict[str, str]:
    return dict(stored_preparation(load_model(file), file).steps)


def test_what_the_columns_suggest_is_taken_and_said(run: Run) -> None:
    code, _, err = run("fit", "whole.csv", *FIT[2:], "--ignore", "age", "batch")
    assert code == 0
    assert steps() == {"report": "tf-idf", "rna": "log1p", "lab": "standardize"}
    assert "View 'report' (30 numeric columns): weighted by how rare each column is" in err
    assert "of them 0, as counts of words are." in err and "as counts are." in err


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--prepare", "log1p", "lab=none"), {"report": "log1p", "rna": "log1p", "lab": "as is"}),
        (("--prepare", "rna=normal-ranks"), {"report": "tf-idf", "rna": "normal ranks", "lab": "standardize"}),
        (("--prepare", "ranks"), dict.fromkeys(VIEWS, "ranks")),
        (("--no-standardize",), dict.fromkeys(VIEWS, "as is")),
    ],
)
def test_steps_by_name(run: Run, given: tuple[str, ...], expected: dict[str, str]) -> None:
    three_views(lacking=False).drop(columns=["age", "batch"]).to_csv("data.csv", index=False)
    code, _, err = run(*FIT, *given)
    assert code == 0 and steps() == expected
    assert ("as counts of words are" in err) == (expected["report"] == "tf-idf")  # what was asked for is not told


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            ("--prepare", "magic"),
            "--prepare expects one of auto, standardize, log1p, log-ratio, tf-idf, ranks, normal-ranks, none",
        ),
        (("--prepare", "rna=magic"), "for the view 'rna', but found 'magic'"),
        (("--prepare", "dna=log1p"), "There is no view 'dna' to prepare; the views are 'report', 'rna', 'lab'"),
        (("--prepare", "lab=log1p"), "but log1p needs numbers of 0 or more"),
        (("--adjust", "aeg"), "There is no column 'aeg'; the closest name is 'age'"),
        (("--adjust", "y"), "The label 'y' cannot be adjusted for"),
    ],
)
def test_what_does_not_fit_is_refused(run: Run, given: tuple[str, ...], sentence: str) -> None:
    code, _, err = run("fit", "whole.csv", *FIT[2:], *given)
    assert code == 2 and sentence in err and not Path("m.spnmkl").exists()


def test_rows_that_lack_a_view_are_refused_with_their_number_until_something_is_said(run: Run) -> None:
    code, _, err = run(*FIT, "--adjust", "age,batch")
    assert code == 2
    assert err == (
        "spnmkl: 27 rows lack a whole view: 'report' (11 rows), 'rna' (18 rows); say --absent mean to let the average "
        "of the training rows stand for it, or --absent drop-rows to keep only the rows that have every view.\n"
    )
    one = three_views()
    one.loc[one["lab__a"].idxmax(), "lab__a"] = np.nan
    one.to_csv("data.csv", index=False)
    err = run(*FIT, "--adjust", "age,batch")[2]
    assert "Values are missing in 1 column: 'lab__a' (1 row); fill them with --missing mean" in err
    assert "; rows lack a whole view: 'report' (11 rows), 'rna' (18 rows); say --absent mean" in err


def test_the_average_stands_for_a_view_and_predictions_say_so(run: Run) -> None:
    code, _, err = run(*FIT, "--adjust", "age,batch", "--absent", "mean")
    assert code == 0 and "27 of 120 rows lack a whole view ('report' in 11 rows, 'rna' in 18 rows): the average" in err
    model = load_model("m.spnmkl")
    dataset = Dataset("data", three_views(), "y", views=VIEWS, adjust=("age", "batch"))
    expected = Preparation.of(dataset, Choices("auto", absent="mean"))
    assert stored_preparation(model, "m").steps == expected.steps
    new = three_views(20, seed=9).drop(columns="y")
    new.to_csv("new.csv", index=False)
    code, _, err = run("predict", "m.spnmkl", "new.csv", "--scores", "--out", "p.csv")
    assert code == 0 and "3 rows lack the view 'rna': the average of the training rows stands for it." in err
    np.testing.assert_allclose(
        pd.read_csv("p.csv")["score"], model.decision_function(expected.transform(new)), atol=1e-9
    )
    new.drop(columns=list(VIEWS["rna"])).to_csv("new.csv", index=False)  # nobody measured it
    code, _, err = run("predict", "m.spnmkl", "new.csv", "--scores", "--out", "p.csv")
    assert code == 0 and "20 rows lack the view 'rna'" in err
    new[list(VIEWS["rna"])] = np.nan
    np.testing.assert_allclose(
        pd.read_csv("p.csv")["score"], model.decision_function(expected.transform(new)), atol=1e-9
    )


def test_rows_that_lack_a_view_can_be_left_out(run: Run) -> None:
    code, _, err = run(*FIT, "--adjust", "age", "batch", "--absent", "drop-rows")
    assert code == 0 and "lack a whole view ('report' in 11 rows, 'rna' in 18 rows): left out." in err
    assert len(load_model("m.spnmkl").solution_.y) == 93
    code, _, err = run("predict", "m.spnmkl", "data.csv", "--out", "p.csv")
    assert code == 0 and int(pd.read_csv("p.csv")["prediction"].isna().sum()) == 27
    assert "27 rows without a prediction" in err


def test_a_template_does_not_see_what_is_adjusted_for(run: Run) -> None:
    code, _, _ = run(
        "template", "flat", "--columns", "data.csv", "--label", "y", "--adjust", "age,batch", "--out", "t.json"
    )
    assert code == 0
    assert not {"age", "batch"} & set(Path("t.json").read_text().split('"'))
    code, _, err = run(
        *FIT[:4], "--structure", "t.json", "--out", "m.spnmkl", "--adjust", "age,batch", "--absent", "mean"
    )
    assert code == 0, err


def test_a_model_tells_how_its_columns_were_prepared(run: Run) -> None:
    three_views(lacking=False).to_csv("data.csv", index=False)
    code, out, _ = run(*FIT, "--prepare", "rna=log1p", "lab=ranks", "--adjust", "age", "batch", "--missing", "median")
    adjusted = "adjusted for 'age' (a line), 'batch' ("
    assert code == 0 and adjusted in out
    told = run("inspect", "m.spnmkl")[1]
    assert f"prepared: rna ({len(VIEWS['rna'])} numeric columns): log(1 + value), then scaled" in told
    assert f"prepared: lab ({len(VIEWS['lab'])} numeric columns): ranks among the training rows" in told
    assert "missing values: numbers filled with the median of the training rows" in told and adjusted in told
    stored = json.loads(run("inspect", "m.spnmkl", "--json")[1])["preparation"]
    assert stored["steps"] == {"report": "tf-idf", "rna": "log1p", "lab": "ranks"}
    assert stored["missing"] == "median" and stored["adjusted_for"] == ["age", "batch"]


@pytest.mark.parametrize("command", [("fit", "--out", "m.spnmkl"), ("importance", "--folds", "2", "--C", "1")])
@pytest.mark.parametrize("word", ["<0.5", "12,345"])
def test_a_column_that_one_value_makes_text_is_told(run: Run, command: tuple[str, ...], word: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"]).assign(y=np.arange(30) % 2)
    frame["c"] = [*map(str, rng.integers(0, 9, 29)), word]
    frame.to_csv("odd.csv", index=False)
    code, _, err = run(command[0], "odd.csv", "--label", "y", *command[1:])
    assert code == 0 and f"Text column 'c' holds numbers but for 1 row, such as {word!r}" in err
    frame["c"] = [*(f"{v:.9f}" for v in rng.random(29)), word]  # all different, and yet numbers
    frame.to_csv("odd.csv", index=False)
    err = run(command[0], "odd.csv", "--label", "y", *command[1:])[2]
    assert f"Text column 'c' holds numbers but for 1 row, such as {word!r}" in err
