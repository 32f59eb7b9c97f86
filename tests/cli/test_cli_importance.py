"""``spnmkl importance``: views and columns on rows that were not trained on."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from spnmkl import Kernel, templates
from spnmkl.cli import arguments
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.importance import ViewImportance, view_importance
from spnmkl.measures import SCORINGS
from spnmkl.training.default import suited_drawing

Run = Callable[..., tuple[int, str, str]]
ASKED = ("importance", "data.csv", "--label", "y")
BEGIN = (*ASKED, "--structure", "flat")
VIEWS = {"blood": ["blood__a", "blood__b"], "noise": ["noise__a", "noise__b"]}


def samples(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 4)), columns=[c for columns in VIEWS.values() for c in columns])
    return frame.assign(y=np.where(frame["blood__a"] + 0.3 * rng.standard_normal(n) > 0, "ill", "well"))


@pytest.fixture
def folder(folder: Path) -> Path:
    samples().to_csv("data.csv", index=False)
    return folder


def test_views_as_in_the_library(run: Run) -> None:
    spn = templates.flat([Kernel("rbf", features=columns, label=view) for view, columns in VIEWS.items()])
    Path("s.json").write_text(spn.to_json())
    asked = (
        *ASKED,
        "--structure",
        "s.json",
        "--C",
        1,
        "--folds",
        3,
        "--out",
        "t.csv",
        "--figure",
        "f.svg",
        "--progress",
    )
    code, out, err = run(*asked)
    assert code == 0 and "fold 2 of 3" in err
    frame = samples()
    y = frame.pop("y")
    expected = view_importance(spn, frame, y, VIEWS, C=1.0, cv=3, transformer=StandardScaler())
    pd.testing.assert_frame_equal(pd.read_csv("t.csv"), expected.table, rtol=1e-6)
    assert out.splitlines() == list(expected.sentences) and "<svg" in Path("f.svg").read_text()
    expected = view_importance(spn, frame, y, VIEWS, C=1.0, cv=3, transformer=StandardScaler(), weights="evidence")
    assert run(*asked, "--weights", "evidence")[1].splitlines() == list(expected.sentences)


def test_without_a_structure_as_fit_has_it_with_the_weights_chosen_in_every_fold(run: Run) -> None:
    code, out, _ = run(*ASKED, "--C", 1, "--folds", 3, "--resume", "kept.json", "--prepare", "standardize")
    frame = samples()
    dataset = Dataset("data", frame.copy(), "y").views_by_prefix()
    spn, y = suited_drawing(dataset, Choices(), SplitSettings(0.0)), frame.pop("y")
    expected = view_importance(spn, frame, y, VIEWS, C=1.0, cv=3, transformer=StandardScaler(), weights="chosen")
    assert code == 0 and out.splitlines() == list(expected.sentences)
    kinds = Counter(fold.weights for fold in expected.folds)
    assert f"({', '.join(f'{kind} in {n}' for kind, n in kinds.items())})" in out
    kept = ViewImportance.from_dict(json.loads(Path("kept.json").read_text()))
    assert kept.weights == "chosen" and [f.weights for f in kept.folds] == [f.weights for f in expected.folds]


def test_columns_of_a_view(run: Run) -> None:
    code, out, _ = run(*BEGIN, "--C", 1, "--folds", 3, "--columns", "blood", "--out", "-")
    assert code == 0 and out.splitlines()[0].startswith("columns,members,n_columns,drop")
    assert out.splitlines()[1].startswith("blood__a,")
    code, _, err = run(*BEGIN, "--columns", "bone")
    assert code == 2 and "There is no view 'bone' to look into; the views are 'blood', 'noise'" in err


def test_folds_that_were_kept_are_not_measured_again(run: Run) -> None:
    asked = (*BEGIN, "--C", 1, "--folds", 3, "--resume", "folds.json", "--quiet", "--progress")
    assert run(*asked)[0] == 0
    stored = json.loads(Path("folds.json").read_text())
    stored["folds"] = stored["folds"][:2]
    Path("folds.json").write_text(json.dumps(stored))
    code, _, err = run(*asked)
    assert code == 0 and "fold 1" not in err and len(json.loads(Path("folds.json").read_text())["folds"]) == 3
    code, _, err = run(*asked, "--seed", 1)
    assert code == 2 and "of another question" in err
    Path("folds.json").write_text("{}")
    assert "holds no folds" in run(*asked)[2]


def test_what_cannot_be_is_said_before_any_work(run: Run) -> None:
    assert "--figure takes a file that ends in .svg, .png, .html" in run(*BEGIN, "--figure", "f.pdf")[2]
    assert "keeps views only" in run(*BEGIN, "--columns", "blood", "--resume", "f.json")[2]
    assert "'data.csv' is an input" in run(*BEGIN, "--out", "data.csv")[2]
    assert list(SCORINGS) == list(arguments.SCORINGS)


def test_a_column_that_looks_like_a_group_is_refused_until_it_is_said_what_it_is(run: Run) -> None:
    samples().assign(patient=[f"p{k // 3}" for k in range(90)]).to_csv("data.csv", index=False)
    asked = (*BEGIN, "--folds", 2, "--C", 1)
    code, _, err = run(*asked)
    assert code == 2 and "Column 'patient' looks like it groups rows (30 values, about 3 rows each)" in err
    assert "--group patient" in err and "--keep patient" in err
    for way_out in ("--group", "--keep"):
        code, out, err = run(*asked, way_out, "patient")
        assert code == 0 and "looks like" not in err and out.count(": alone ") == 2 + (way_out == "--keep")


def test_ctrl_c_keeps_the_folds_that_are_done(tmp_path: Path) -> None:
    samples(400).to_csv(tmp_path / "data.csv", index=False)
    asked = [*BEGIN, "--repeats", "500", "--C", "1", "--progress", "--resume", "folds.json"]
    program = [sys.executable, "-m", "spnmkl", *asked]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "fold 3 of 5" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 5 and "it was stopped before the others" in out
    assert 2 <= len(json.loads((tmp_path / "folds.json").read_text())["folds"]) < 2500
