"""The command line over several tables, and with rows held out."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl import SPN
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.model_file import load_model
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights, train

Run = Callable[..., tuple[int, str, str]]
FIT = ("fit", "blood.csv", "scan.csv", "--label", "y", "--out", "m.spnmkl", "--structure", "grouped")


def samples(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    frame = pd.DataFrame(X, columns=["iron", "sugar", "width", "length"])
    frame.insert(0, "code", np.arange(100, 100 + n))
    return frame.assign(y=np.where(X[:, 0] + X[:, 2] > 0, "ill", "well"), patient=np.arange(n) // 3)


@pytest.fixture
def folder(folder: Path) -> Path:
    whole = samples()
    whole.to_csv("whole.csv", index=False)
    whole[["code", "iron", "sugar"]].to_csv("blood.csv", index=False)
    whole[["code", "width", "length", "y"]].sample(frac=1, random_state=1).iloc[:55].to_csv("scan.csv", index=False)
    return folder


def test_files_are_views_joined_by_their_ids(run: Run) -> None:
    code, out, err = run(*FIT)
    assert code == 0 and "55 of 60 ids stand in all tables" in err and "5 of 60 are not in 'scan.csv'" in err
    assert "5 rows without a label: left out." in err and "lack a whole view" not in err
    assert "β_blood" in out and "β_scan" in out and "code" not in out
    code, out, err = run("predict", "m.spnmkl", "scan.csv", "blood.csv", "--scores", "--out", "p.csv")
    found = pd.read_csv("p.csv").set_index("code")
    assert code == 0 and list(found.columns) == ["prediction", "score"] and len(found) == 60
    assert "5 rows without a prediction, for missing values in 'width', 'length'" in err
    run("predict", "m.spnmkl", "whole.csv", "--scores", "--out", "q.csv")
    one = pd.read_csv("q.csv").set_index("code")
    assert one.index.tolist() == samples()["code"].tolist()
    answered = found.dropna().sort_index()
    assert len(answered) == 55
    pd.testing.assert_frame_equal(answered, one.loc[answered.index])


@pytest.fixture
def incomplete(folder: Path) -> pd.DataFrame:
    """Files of which two lack people, and the table that they are together, made by hand."""
    whole = samples().drop(columns="patient")
    no_blood, no_scan, no_label = [103, 104, 130], [104, 110, 111, 150], [120]
    everyone = whole["code"]
    whole[~everyone.isin(no_blood)][["code", "iron", "sugar"]].to_csv("blood.csv", index=False)
    scan = whole[~everyone.isin(no_scan)][["code", "width", "length"]]
    scan.sample(frac=1, random_state=1).to_csv("scan.csv", index=False)
    whole[~everyone.isin(no_label)][["code", "y"]].to_csv("labels.csv", index=False)
    whole.loc[everyone.isin(no_blood), ["iron", "sugar"]] = np.nan
    whole.loc[everyone.isin(no_scan), ["width", "length"]] = np.nan
    whole.loc[everyone.isin(no_label), "y"] = None
    # In the order of the first file, then of those after it.
    later = [code for code in scan.sample(frac=1, random_state=1)["code"] if code in no_blood]
    first = [code for code in everyone if code not in no_blood]
    return whole.set_index("code").loc[[*first, *later, 104]].reset_index()


FILES = ("blood.csv", "scan.csv", "labels.csv")
THREE = ("fit", *FILES, "--label", "y", "--out", "m.spnmkl", "--structure", "grouped")


def test_who_is_not_in_a_file_is_refused_until_a_rule_is_given(run: Run, incomplete: pd.DataFrame) -> None:
    code, _, err = run(*THREE)
    assert code == 2 and "53 of 60 ids stand in all tables. Every id has a row" in err
    assert "3 of 60 are not in 'blood.csv': '" in err and "4 of 60 are not in 'scan.csv'" in err
    assert "1 row without a label: left out." in err and "1 row has no value in any view: left out." in err
    assert err.endswith(
        "spnmkl: 5 rows lack a whole view: 'blood' (2 rows), 'scan' (3 rows); say --absent mean to let the average of "
        "the training rows stand for it, or --absent drop-rows to keep only the rows that have every view.\n"
    )


@pytest.mark.parametrize("rule", ["mean", "drop rows"])
def test_files_of_which_some_lack_people_are_the_table_made_by_hand(
    run: Run, incomplete: pd.DataFrame, rule: str
) -> None:
    """By the same rule the table that somebody joined by hand gives the same model, and the same answers."""
    code, _, err = run(*THREE, "--absent", rule.replace(" ", "-"))
    assert code == 0 and "5 of 58 rows lack a whole view ('blood' in 2 rows, 'scan' in 3 rows): " in err
    views = {"blood": ("iron", "sugar"), "scan": ("width", "length")}
    dataset = Dataset("by hand", incomplete, "y", ("code",), views)
    prepared = prepare(dataset.template("grouped"), dataset, Choices("auto", absent=rule), SplitSettings(0.0))
    assert prepared.n == {"mean": 58, "drop rows": 53}[rule]
    expected = learn_weights(prepared, Settings()).model
    assert expected is not None
    run("predict", "m.spnmkl", "blood.csv", "scan.csv", "--scores", "--out", "p.csv")
    found = pd.read_csv("p.csv").set_index("code")["score"]
    assert len(found) == 59  # whom no file knows, nobody is asked about
    answered = found.dropna().index
    assert len(answered) == {"mean": 59, "drop rows": 54}[rule]
    new = prepared.preparation.transform(incomplete.set_index("code").loc[answered])
    np.testing.assert_allclose(found[answered], expected.decision_function(new), atol=1e-9)


def test_of_a_patient_who_lacks_a_view_the_importance_knows_too(run: Run, incomplete: pd.DataFrame) -> None:
    measure = ("importance", *FILES, "--label", "y", "--structure", "grouped", "--C", 1, "--folds", 2, "--out", "v.csv")
    assert run(*measure)[0] == 2
    code, _, err = run(*measure, "--absent", "mean")
    assert code == 0 and "5 of 58 rows lack a whole view ('blood' in 2 rows, 'scan' in 3 rows): the average" in err
    assert list(pd.read_csv("v.csv")["view"]) == ["blood", "scan"]


def test_predictions_of_one_table_carry_the_ids_of_its_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = ("fit", "whole.csv", "--label", "y", "--out", "m.spnmkl", "--ignore", "patient", "--quiet")
    assert run(*fit, "--id", "code")[0] == 0 and "code" not in load_model("m.spnmkl").feature_names_in_
    new = samples(5).rename(columns={"patient": "sample"})
    new.to_csv("new.csv", index=False)
    table = pd.read_csv(io.StringIO(run("predict", "m.spnmkl", "new.csv")[1]))
    assert list(table) == ["code", "sample", "prediction"]  # as in training first, then what looks like one
    assert table["code"].tolist() == new["code"].tolist()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(new.to_csv(index=False).encode())))
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(run("predict", "m.spnmkl", "-")[1])), table)
    new.drop(columns=["code", "sample"]).assign(key=range(5)).to_csv("new.csv", index=False)
    assert run("predict", "m.spnmkl", "new.csv")[1].startswith("prediction\n")
    assert run("predict", "m.spnmkl", "new.csv", "--id", "key")[1].startswith("key,prediction\n0,")
    assert run("predict", "m.spnmkl", "new.csv", "--id", "keys") == (
        2,
        "",
        "spnmkl: There is no column 'keys'; the closest name is 'key'.\n",
    )


def test_a_named_id_and_rows_in_order(run: Run) -> None:
    assert run(*FIT, "--id", "codes")[0] == 2
    assert run(*FIT, "--id", "code", "--quiet")[0] == 0
    code, _, err = run(*FIT, "--by-order")
    assert code == 2 and "the same number of rows" in err


def test_a_template_takes_files_as_groups(run: Run) -> None:
    run("template", "grouped", "--columns", "blood.csv", "scan.csv", "--label", "y", "--out", "s.json")
    spn = SPN.from_json(Path("s.json").read_bytes())
    assert {spn.label(v) for v in spn.children(spn.root)} == {"blood", "scan"}
    assert {spn.spec(leaf).features for leaf in spn.kernels} == {("iron",), ("sugar",), ("width",), ("length",)}


def test_a_template_makes_no_kernel_of_the_group(run: Run) -> None:
    template = ("template", "flat", "--columns", "whole.csv", "--label", "y", "--ignore", "code")
    assert "patient" in run(*template)[1]
    code, out, err = run(*template, "--group", "patient")
    assert (code, err) == (0, "") and "patient" not in out and "iron" in out


@pytest.mark.parametrize("group", [None, "patient"])
def test_rows_held_out_give_what_the_app_gives(run: Run, group: str | None) -> None:
    more = ["--group", "patient"] if group else ["--ignore", "patient", "code"]
    fit = ("fit", "whole.csv", "--label", "y", "--out", "m.spnmkl", "--structure", "flat", "--test-share", 0.3)
    fit += ("--seed", 7)
    code, out, _ = run(*fit, *more, *(["--ignore", "code"] if group else []))
    ignored = ("code",) if group else ("code", "patient")
    dataset = Dataset("whole", samples(), "y", ignored=ignored, group=group)
    prepared = prepare(dataset.template("flat"), dataset, Choices(), SplitSettings(0.3, 7))
    expected = train(prepared, Settings()).test_scores.sentence()
    assert code == 0 and expected in out and "95 % interval" in expected


def test_a_column_that_looks_like_a_group_is_told(run: Run) -> None:
    fit = ("fit", "whole.csv", "--label", "y", "--out", "m.spnmkl", "--ignore", "code")
    assert run(*fit)[2] == (
        "spnmkl: Column 'patient' looks like it groups rows (20 values, about 3 rows each); say --group patient to "
        "keep groups together, or --ignore patient to leave it out.\n"
    )
    assert "patient" in load_model("m.spnmkl").feature_names_in_
    assert run(*fit, "--group", "patient")[2] == run(*fit, "patient")[2] == ""


def test_a_share_that_is_none_is_refused(run: Run) -> None:
    """At once: the table, which does not exist, is not asked for."""
    for share, meant in (("30", "; did you mean 0.3"), ("1", ""), ("-0.1", ""), ("some", "")):
        assert run("fit", "none.csv", "--label", "y", "--out", "m.spnmkl", "--test-share", share) == (
            2,
            "",
            f"spnmkl: argument --test-share: expected a share of the rows between 0 and 1, found {share!r}{meant}; "
            "see spnmkl fit --help.\n",
        )
