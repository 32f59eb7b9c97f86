"""The command line end to end: what it writes, what it says, and its exit codes."""

import io
import json
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spnmkl
from spnmkl import SPN, Kernel, Product, Sum, quickstart
from spnmkl.cli import commands as cli
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.model_file import load_model, save_model
from spnmkl.reporting.sentences import certificate_sentence
from spnmkl.structure.templates import TEMPLATES
from spnmkl.training import train as train_module
from spnmkl.training.predict import stored_preparation
from spnmkl.training.train import learn_weights

Run = Callable[..., tuple[int, str, str]]

FIT = ("fit", "data.csv", "--label", "y", "--out", "m.spnmkl", "--structure", "flat", "--C", "10")


def samples(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    frame = pd.DataFrame(X, columns=["shape__a", "shape__b", "size__c", "size__d"])
    frame["colour"] = rng.choice(["red", "blue"], n)
    frame["y"] = np.where(X[:, 0] * X[:, 2] + (frame["colour"] == "red") > 0.5, "yes", "no")
    return frame


@pytest.fixture
def folder(folder: Path) -> Path:
    samples().to_csv("data.csv", index=False)
    return folder


def two_kernels() -> SPN:
    local = Kernel("rbf", features=["shape__a", "size__c"])
    return SPN(Sum(Product(Kernel("linear", features=["shape__a"])), Product(local)))


def test_fit_reports_the_certificate(run: Run) -> None:
    code, out, err = run(*FIT)
    lines = out.splitlines()
    assert code == 0 and err == ""
    assert lines[0].startswith("certified optimal: gap ") and lines[0].endswith(" ≤ 1e-03")
    assert lines[1].startswith("training accuracy ") and "; always answering 'yes' gives 55.0 %" in lines[1]
    assert lines[2] == "weights:" and lines[3].startswith("  β_")
    assert lines[-2].startswith("pruned: ")
    assert lines[-1].endswith(" s, saved as m.spnmkl")


def test_fit_can_be_quiet_or_show_progress(run: Run) -> None:
    assert run(*FIT, "--quiet") == (0, "", "")
    begun, *lines = (line for line in run(*FIT, "--progress")[2].splitlines() if not line.startswith("kernels "))
    assert begun == "preparing the columns"
    assert len(lines) == len(load_model("m.spnmkl").history_)
    assert lines[0].startswith("iteration   1  objective ") and "active weights 3 of 3" in lines[0]


def test_progress_of_a_choice_of_C_is_told_training_by_training(run: Run) -> None:
    lines = run(*FIT, "--C", "cv", "--progress")[2].splitlines()
    told = [line.split() for line in lines if line.startswith("choosing C  ")]
    assert [int(words[2]) for words in told] == list(range(1, len(told) + 1))
    assert {words[4] for words in told} == {str(len(told))} and len(told) % 5 == 0
    assert {words[6] for words in told} == set("12345")
    assert run(*FIT, "--C", "cv")[2] == ""


def test_kernels_count_as_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = cli.prepare

    def slowly(*given: Any, **more: Any) -> Any:
        found = prepare(*given, **more)
        time.sleep(0.3)
        return found

    monkeypatch.setattr(cli, "prepare", slowly)
    code, out, err = run(*FIT, "--max-time", "0.2")
    assert code == 6 and "no weight was tried" in out
    assert "Computing the kernels took all of the 0.2 s of --max-time; allow more" in err
    assert load_model("m.spnmkl").max_time == 0.2


def test_predict_agrees_with_the_library(run: Run, folder: Path) -> None:
    run(*FIT)
    frame = samples()
    frame.assign(extra="?")[["extra", *reversed(frame.columns)]].to_csv("new.tsv", index=False, sep="\t")
    code, out, err = run("predict", "m.spnmkl", "new.tsv", "--scores")
    table = pd.read_csv(io.StringIO(out))
    model = load_model("m.spnmkl")
    X = stored_preparation(model, "model").transform(frame)
    assert code == 0 and "trained on" in err and list(table) == ["prediction", "score"]
    assert table["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(table["score"], model.decision_function(X))
    assert run("predict", "m.spnmkl", "new.tsv", "--out", "p.csv") == (0, "", err)
    assert pd.read_csv("p.csv")["prediction"].tolist() == table["prediction"].tolist()


def test_lines_above_the_header(run: Run, folder: Path) -> None:
    text = samples().to_csv(index=False)
    (folder / "noted.csv").write_text(f"# from the clinic\n{text}")
    (folder / "titled.csv").write_text(f"Report,,,,,\n\n{text}")
    assert run("fit", "noted.csv", *FIT[2:])[0] == 0
    expected = run("predict", "m.spnmkl", "data.csv")
    assert run("predict", "m.spnmkl", "noted.csv") == expected
    assert run("predict", "m.spnmkl", "titled.csv", "--skip-lines", 2) == expected
    assert run("predict", "m.spnmkl", "titled.csv")[0] == 2
    made = [
        run("template", "grouped", "--columns", *given, "--label", "y")
        for given in (["data.csv"], ["titled.csv", "--skip-lines", 2])
    ]
    assert made[0] == made[1] and made[0][0] == 0


def test_three_classes_holes_and_settings(run: Run) -> None:
    frame = samples().rename(columns={"y": "old"})
    frame["y"] = np.digitize(frame["shape__a"], [-0.5, 0.5])
    frame.loc[3, ["size__c", "colour"]] = None
    frame.to_csv("data.csv", index=False)
    code, _, err = run(
        *FIT, "--structure", "grouped", "--p", "1.5", "--impute", "mean", "--ignore", "old", "colour",
        "--class-weight", "balanced", "--no-standardize", "--lam", "0.5", "--tol", "1e-2", "--threads", "1",
        "--max-memory", "0.5",
    )  # fmt: skip
    assert code == 0, err
    model = load_model("m.spnmkl")
    assert (model.p, model.class_weight, model.lam, model.tol) == (1.5, "balanced", 0.5, 1e-2)
    assert model.max_memory == 0.5
    table = pd.read_csv(io.StringIO(run("predict", "m.spnmkl", "data.csv", "--scores")[1]))
    assert list(table) == ["prediction", "score_0", "score_1", "score_2"]
    assert (table["prediction"] == frame["y"]).mean() > 0.8


def test_codes_with_leading_zeros_stay_text(run: Run) -> None:
    frame = samples()
    frame["colour"] = np.where(frame["colour"] == "red", "01", "x")
    frame.to_csv("data.csv", index=False)
    run(*FIT)
    frame[frame["colour"] == "01"].to_csv("new.csv", index=False)
    all_rows = pd.read_csv(io.StringIO(run("predict", "m.spnmkl", "data.csv")[1]))
    alone = pd.read_csv(io.StringIO(run("predict", "m.spnmkl", "new.csv")[1]))
    assert alone["prediction"].tolist() == all_rows["prediction"][frame["colour"] == "01"].tolist()


def test_identifiers_are_left_out_unless_they_are_kept(run: Run) -> None:
    samples().assign(id=[f"row {k}" for k in range(60)], patient_id=range(60)).to_csv("data.csv", index=False)
    code, _, err = run(*FIT)
    assert code == 0
    assert err == "".join(
        f"spnmkl: Column {name!r} only tells rows apart and is left out; --keep it to use it.\n"
        for name in ("id", "patient_id")
    )
    assert not {"id", "patient_id"} & set(load_model("m.spnmkl").feature_names_in_)
    code, _, err = run(*FIT, "--keep", "patient_id")
    assert code == 0 and "'patient_id'" not in err
    assert "patient_id" in load_model("m.spnmkl").feature_names_in_


def test_structure_from_a_file(run: Run) -> None:
    Path("s.json").write_text(two_kernels().to_json())
    assert run(*FIT, "--structure", "s.json", "--solver", "paper")[0] == 0
    assert load_model("m.spnmkl").spn_ == two_kernels()


def test_a_model_saved_without_preparation_takes_columns_as_they_are(run: Run) -> None:
    frame = samples()
    X = frame[["size__c", "shape__a"]]
    model = SPNMKLClassifier(C=10.0, weights="certified").fit(X, frame["y"])
    save_model(model, "m.spnmkl")
    table = pd.read_csv(io.StringIO(run("predict", "m.spnmkl", "data.csv")[1]))
    assert table["prediction"].tolist() == model.predict(X).tolist()
    save_model(SPNMKLClassifier(C=10.0, weights="certified").fit(X.to_numpy(), frame["y"]), "m.spnmkl")
    assert run("predict", "m.spnmkl", "data.csv") == (
        2,
        "",
        "spnmkl: The model 'm.spnmkl' was trained on columns without names, so that none can be found in a table; "
        "load it in Python with load_model instead.\n",
    )


STATUSES = [
    (("--structure", "grouped", "--p", "sparse", "--ignore", "colour"), 3, "stationary (KKT residual "),
    (
        ("--max-iter", "1", "--tol", "1e-9"),
        4,
        "not certified: ended at the limit of 1 iteration at gap ",
    ),
    (
        ("--max-time", "1e-9", "--tol", "1e-9"),
        6,
        "not certified: stopped before the first point was found; no weight was tried",
    ),
]


@pytest.mark.parametrize(("options", "code", "beginning"), STATUSES)
def test_exit_codes_tell_the_status(run: Run, options: tuple[str, ...], code: int, beginning: str) -> None:
    found, out, err = run(*FIT, *options)
    late = "spnmkl: Computing the kernels took all of the 1e-09 s of --max-time; allow more to learn weights.\n"
    assert (found, err) == (code, late if code == 6 else "")
    assert out.startswith(beginning)
    assert run("predict", "m.spnmkl", "data.csv")[0] == 0


def test_ctrl_c_stops_the_training_and_saves_the_best(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(cli.Progress, "__call__", lambda *_: signal.raise_signal(signal.SIGINT) or True)
    code, out, _ = run(*FIT, "--tol", "1e-9")
    assert code == 5
    assert out.startswith("not certified: stopped after 1 iteration at gap ")
    assert load_model("m.spnmkl").status_ == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before


def test_what_takes_long_is_not_scored_after_ctrl_c(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_module, "MOMENT", -1.0)
    monkeypatch.setattr(cli.Progress, "__call__", lambda *_: signal.raise_signal(signal.SIGINT) or True)
    code, out, _ = run(*FIT, "--tol", "1e-9", "--test-share", "0.3", "--max-memory", "0")
    assert code == 5 and load_model("m.spnmkl").status_ == "interrupted"
    assert out.splitlines()[1:3] == [
        "42 training rows not scored: stopped; spnmkl predict answers them with the weights that are saved",
        "18 test rows not scored: stopped",
    ]


def test_ctrl_c_before_there_is_anything_to_keep_ends_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **settings: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return learn_weights(*given, **settings)

    monkeypatch.setattr(cli, "learn_weights", interrupted)
    assert run(*FIT) == (130, "", "spnmkl: interrupted.\n")
    assert not Path("m.spnmkl").exists()


def test_ctrl_c_within_an_iteration_is_heard_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, heard = [], []

    def watched(*given: Any, **settings: Any) -> Any:
        *others, asked = given

        def stop() -> bool:
            if begun and not heard:
                signal.raise_signal(signal.SIGINT)
                heard.append(asked())
            return asked()

        return learn_weights(*others, stop, **settings)

    monkeypatch.setattr(cli, "learn_weights", watched)
    monkeypatch.setattr(cli.Progress, "__call__", lambda _, record: begun.append(record) or True)
    code, out, _ = run(*FIT, "--tol", "1e-9")
    assert (code, heard) == (5, [True])
    assert out.startswith(f"not certified: stopped after {len(begun)} iteration")


def test_ctrl_c_while_the_library_is_loaded_is_told_in_a_sentence() -> None:
    code = """
import signal, sys
from spnmkl.__main__ import main

class Finder:
    def find_spec(self, name, *_):
        if name == "spnmkl.cli.commands":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background may have switched off
sys.meta_path.insert(0, Finder())
sys.exit(main(["template", "--list"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "spnmkl: interrupted.\n")


def test_ctrl_c_twice_writes_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(*_: object) -> bool:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return True

    monkeypatch.setattr(cli.Progress, "__call__", twice)
    assert run(*FIT, "--tol", "1e-9") == (130, "", "spnmkl: interrupted.\n")
    assert not Path("m.spnmkl").exists()


def test_a_useless_C_is_said(run: Run) -> None:
    code, out, err = run(*FIT, "--C", "1e-6")
    assert code == 0
    assert err.startswith("spnmkl: C = 1e-06 is at or below C_min, ") and err.count("\n") == 1
    assert "every weight is zero and the answer constant: choose a larger C" in out
    table = pd.read_csv(io.StringIO(run("predict", "m.spnmkl", "data.csv")[1]))
    assert table["prediction"].nunique() == 1
    assert "no path is left: every weight is zero" in run("inspect", "m.spnmkl")[1]


def test_certificates_in_plain_words(run: Run) -> None:
    run(*FIT)
    solution = load_model("m.spnmkl").solution_
    history = solution.history[:1] * 7
    for status, gap, sentence in (
        ("optimal", 4.1e-4, "certified optimal: gap 4.1e-04 ≤ 1e-03"),
        (
            "precision",
            0.02,
            "not certified: rounding allows no further progress at gap 2.0e-02 > 1e-03; the optimum is at most 2 % "
            "lower",
        ),
        (
            "memory",
            0.02,
            f"not certified: what would come next needs up to {16 * len(solution.y) ** 2 / 1000:.0f} kB of memory "
            "beside the kernels, more than was free at gap 2.0e-02 > 1e-03; the optimum is at most 2 % lower",
        ),
        (
            "time_limit",
            0.5,
            "not certified: ended at the limit of time after 7 iterations at gap 5.0e-01 > 1e-03; the optimum is at "
            "most 50 % lower",
        ),
        (
            "interrupted",
            8e-5,  # which kernels in tiles may have when they are stopped
            "not certified: stopped after 7 iterations, while its gap of 8.0e-05 ≤ 1e-03 was being proved",
        ),
        (
            "iteration_limit",
            np.inf,
            "not certified: ended at the limit of 7 iterations, and no bound on the optimum is known",
        ),
    ):
        changed = replace(solution, status=status, gap=gap, history=history)
        assert certificate_sentence(changed) == sentence
        codes = {"optimal": 0, "precision": 4, "memory": 4, "interrupted": 5, "time_limit": 6, "iteration_limit": 4}
        assert cli.EXIT_CODES[status] == codes[status]


def test_a_model_of_an_earlier_version_that_stalled_is_read(run: Run) -> None:
    """Its status is told, and its records are of the solver it names."""
    run(*FIT, "--solver", "paper", "--tol", "0.1")
    with zipfile.ZipFile("m.spnmkl") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    del document["methods"], document["settings"]["max_time"]
    document["status"], document["certificate"]["gap"] = "stalled", 0.5
    with zipfile.ZipFile("old.spnmkl", "w") as archive:
        for name, data in (members | {"model.json": json.dumps(document).encode()}).items():
            archive.writestr(name, data)
    code, out, err = run("inspect", "old.spnmkl")
    assert (code, err) == (0, "")
    assert out.startswith(
        "not certified: no further progress was possible at gap 5.0e-01 > 1e-01; the optimum is at most 50 % lower"
    )
    assert {record.method for record in load_model("old.spnmkl").history_} == {"paper"}


def test_inspect_tells_the_methods(run: Run) -> None:
    run(*FIT, "--solver", "newton", "--tol", "1e-9")
    assert "λ = 1, solver newton\n" in run("inspect", "m.spnmkl")[1]
    model = load_model("m.spnmkl")
    first, *others = model.history_
    history = (first, *(replace(record, method="interior") for record in others))
    model.solution_ = replace(model.solution_, history=history, solver="auto")
    save_model(model, "m.spnmkl")
    assert "solver auto (second order, then path following from iteration 2)\n" in run("inspect", "m.spnmkl")[1]
    assert json.loads(run("inspect", "m.spnmkl", "--json")[1])["methods"] == [
        {"method": "newton", "from_iteration": 1},
        {"method": "interior", "from_iteration": 2},
    ]


def test_inspect(run: Run) -> None:
    run(*FIT, "--structure", "grouped")
    code, out, _ = run("inspect", "m.spnmkl", "--paths", 2)
    assert code == 0
    assert out.startswith("certified optimal") and "K = β_shape (β_shape__a K_shape__a + " in out
    paths = out.split("heaviest paths (part of all g):\n")[1].splitlines()
    assert len(paths) == 2 and "g = β_" in paths[0] and "¹⁄²" in paths[0]
    data = json.loads(run("inspect", "m.spnmkl", "--json")[1])
    assert data["status"] == "optimal" and data["gap"] <= data["tol"] and len(data["beta"]) == 7
    assert list(data["beta"].values()) == sorted(data["beta"].values(), reverse=True)
    assert sum(path["share"] for path in data["paths"]) == pytest.approx(1)


def test_held_out_shares_are_measured_kept_and_told(run: Run) -> None:
    assert run(*FIT)[0] == 0
    assert "held-out shares: not measured; fit with --test-share" in run("inspect", "m.spnmkl")[1]
    x = np.random.default_rng(0).normal(size=(120, 2))
    pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0] > 0).to_csv("data.csv", index=False)
    out = run(*FIT, "--test-share", 0.3)[1]
    told = out[out.index("held-out shares, on ") :].splitlines()[:4]
    assert "test rows:" in told[0] and " ± " in told[1] and "± is the standard error over the 36 rows" in told[3]
    assert "\n".join(told) in run("inspect", "m.spnmkl")[1]
    run(*FIT, "--share-folds", 3, "--quiet")
    assert "the standard deviation of the shares of the 3 trainings" in run("inspect", "m.spnmkl")[1]
    data = json.loads(run("inspect", "m.spnmkl", "--json")[1])["held_out"]
    assert data["rows"].startswith("3 folds of ") and data["why_none"] is None
    code, _, err = run(*FIT, "--share-folds", 1)
    assert code == 2 and "expected a whole number of 2 or more, found '1'" in err


def test_validate_and_repair(run: Run) -> None:
    broken = SPN(Sum(Kernel("linear"), Product(Kernel("rbf"))))
    Path("s.json").write_text(broken.to_json())
    problem = (
        "error: The kernel 'K₁ linear' stands directly below the top sum; every child of a sum must be a product. "
        "Repair: put a product between the top sum and 'K₁ linear'.\n"
    )
    valid = "valid: SPN(1 sum, 2 products, 2 kernels), 2 paths, 1 layer\n"
    assert run("validate", "s.json") == (2, problem, "")
    repaired = problem + "repaired structure saved as r.json; errors left: 0\n" + valid
    assert run("validate", "s.json", "--repair", "r.json") == (0, repaired, "")
    assert run("validate", "r.json") == (0, valid, "")


def test_validate_looks_at_kernels_too(run: Run) -> None:
    Path("s.json").write_text(SPN(Product(Kernel("rbf", gamma=-1))).to_json())
    code, out, _ = run("validate", "s.json", "--repair", "r.json")
    assert code == 2
    assert "needs gamma to be a number above 0" in out and "errors left: 1" in out


def test_validate_takes_tables_and_refuses_what_fit_refuses(run: Run) -> None:
    Path("s.json").write_text(two_kernels().to_json())
    valid = "valid: SPN(1 sum, 2 products, 2 kernels), 2 paths, 1 layer, fits data.csv\n"
    assert run("validate", "s.json", "--data", "data.csv", "--label", "y") == (0, valid, "")
    assert run("validate", "s.json", "--data", "data.csv") == (0, valid, "")
    assert run("validate", "s.json", "--data", "none.csv")[0] == 2
    spn = SPN(Sum(Product(Kernel("rbf", features=["size"])), Product(Kernel("hamming", features=["colour"]))))
    cases = [
        (two_kernels(), ("--label", "shape__a")),
        (two_kernels(), ("--label", "y", "--ignore", "shape__a")),
        (spn, ("--label", "y")),
        (SPN(Product(Kernel("rbf"))), ("--label", "y")),
        (SPN(Product(Kernel("hamming", features=["colour"]))), ("--label", "y", "--text", "drop")),
        (SPN(Product(Kernel("precomputed"))), ("--label", "y")),
    ]
    for structure, options in cases:
        Path("s.json").write_text(structure.to_json())
        code, out, err = run("validate", "s.json", "--data", "data.csv", *options)
        found = [line.removeprefix("error: ") for line in out.splitlines() if line.startswith("error: ")]
        assert code == 1 and found, (out, err)
        refused = run("fit", "data.csv", "--structure", "s.json", "--out", "m.spnmkl", *options)
        assert refused[0] == 2 and refused[2].endswith(f"spnmkl: {found[0]}\n")
    samples().assign(shape__a=[None] + [1.0, 2.0, 3.0] * 19 + [0.0] * 2).to_csv("data.csv", index=False)
    Path("s.json").write_text(two_kernels().to_json())
    code, out, _ = run("validate", "s.json", "--data", "data.csv", "--label", "y")
    assert code == 1 and "fill them with --missing" in out
    assert run("validate", "s.json", "--data", "data.csv", "--label", "y", "--missing", "mean")[0] == 0


def test_templates(run: Run) -> None:
    code, out, _ = run("template", "--list")
    assert code == 0 and [line.split()[0] for line in out.splitlines()] == list(TEMPLATES)
    code, out, _ = run("template", "grouped", "--columns", "data.csv", "--label", "y", "--ignore", "colour")
    spn = SPN.from_json(out)
    assert code == 0 and len(spn.kernels) == 4 and spn.n_layers == 2
    assert run("template", "figure1", "--out", "s.json") == (
        0,
        "SPN(4 sums, 9 products, 7 kernels) saved as s.json\n",
        "",
    )
    assert run("validate", "s.json")[0] == 0


def test_a_template_does_not_take_the_label_for_a_column(run: Run) -> None:
    samples().drop(columns=["y", "colour"]).to_csv("rows.csv", index=False)
    code, out, err = run("template", "flat", "--columns", "rows.csv")
    assert (code, err) == (
        0,
        "spnmkl: No label was named; kernels see 4 columns: 'shape__a', 'shape__b', 'size__c', 'size__d'.\n",
    )
    assert len(SPN.from_json(out).kernels) == 2
    code, out, err = run("template", "flat", "--columns", "data.csv", "--no-label")
    assert code == 0 and err.endswith("'size__d', 'colour', 'y'.\n") and "y" in out


# Files before, arguments, sentence on stderr.
REFUSED = [
    ({}, ("fit", "none.csv", *FIT[2:]), "There is no file 'none.csv'; check its name and folder."),
    ({}, (*FIT, "--label", "class"), "There is no column 'class'; the columns are 'shape__a', 'shape__b', 'size__c', "
     "'size__d', 'colour', 'y'."),
    ({}, (*FIT, "--ignore", "colours"), "There is no column 'colours'; the closest name is 'colour'."),
    ({"data.csv": "a,y\n1,u\n,v\n3,u\n"}, FIT, "Values are missing in 1 column: 'a' (1 row); fill them with --missing "
     "mean or median, or leave them out with --missing drop-rows or drop-columns."),
    ({"data.csv": "a,y\n1,u\n2,u\n"}, FIT, "The label 'y' is 'u' in every row; two classes are needed."),
    ({}, (*FIT, "--C", "-1"), "C must be a finite number above 0, but it is -1.0 (float); choose for example 1.0."),
    ({}, (*FIT, "--p", "0"), "p must be a finite number above 0, but it is 0.0 (float); choose for example 1.0."),
    ({}, (*FIT, "--C", "best"), "argument --C: expected a number or cv, found 'best'; see spnmkl fit --help."),
    ({}, (*FIT, "--max-memory", "-1"), "max_memory must be a number of gigabytes of at least 0, or None, but it is "
     "-1.0 (float)."),
    ({}, ("fit", "-", *FIT[2:], "--structure", "-"), "Standard input, -, can be read only once; name files for the "
     "others."),
    ({}, (*FIT, "--p", "dense"), "argument --p: expected a number or sparse, found 'dense'; see spnmkl fit --help."),
    ({}, ("inspect", "m.spnmkl", "--paths", "-1"), "argument --paths: expected a whole number of 0 or more, found "
     "'-1'; see spnmkl inspect --help."),
    ({}, ("fit", "data.csv", "--label", "y"), "the following arguments are required: --out; see spnmkl fit --help."),
    ({}, (), "the following arguments are required: COMMAND; see spnmkl --help."),
    ({}, (*FIT, "--structure", "flet"), "There is no file or template 'flet'; the templates are "
     f"{', '.join(TEMPLATES)}."),
    ({}, (*FIT, "--structure", "none.json"), "There is no file 'none.json'; check its name and folder."),
    ({"s.json": "?"}, (*FIT, "--structure", "s.json"), "s.json: The text is not JSON: Expecting value: line 1 column 1 "
     "(char 0)."),
    ({"s.json": SPN(Product(Kernel("rbf"))).to_json()}, (*FIT, "--structure", "s.json"), "Kernel 'rbf' of leaf 'K₁' "
     "needs numbers, but it sees the text column 'colour'; use the hamming kernel for it, or list the columns without "
     "it."),
    ({"s.json": SPN(Product(Kernel("rbf", features=["size"]))).to_json()}, (*FIT, "--structure", "s.json"),
     "Kernel 'rbf' of leaf 'K₁' asks for column 'size', but no column has that name; the closest name is 'size__d'."),
    ({"s.json": SPN(Sum(Kernel("rbf", features=["size__d"]))).to_json()}, (*FIT, "--structure", "s.json"),
     "The kernel 'K₁ rbf · size__d' stands directly below the top sum; every child of a sum must be a product."),
    ({}, (*FIT, "--out", "no/m.spnmkl"), "The folder 'no' does not exist; make it, or choose another."),
    ({}, (*FIT, "--out", "."), "'.' is a folder; name a file."),
    ({}, (*FIT, "--out", "./data.csv"), "'data.csv' is an input and would be overwritten; choose another name."),
    ({}, ("template",), f"Name a template, one of {', '.join(TEMPLATES)}; or pass --list."),
    ({}, ("template", "flat", "--columns", "data.csv"), "Column 'y' looks like the label, which kernels must not see; "
     "pass --label y, or --no-label if it is none."),
    ({}, ("template", "flat", "--columns", "data.csv", "--label", "y", "--no-label"), "argument --no-label: not "
     "allowed with argument --label; see spnmkl template --help."),
    ({}, ("template", "flat"), "Template 'flat' needs columns to fill it with; name a table that has them."),
]  # fmt: skip


@pytest.mark.parametrize(("files", "arguments", "sentence"), REFUSED)
def test_bad_input_gets_one_sentence_and_changes_nothing(
    run: Run, folder: Path, files: dict[str, str], arguments: tuple[str, ...], sentence: str
) -> None:
    Path("m.spnmkl").write_text("precious")
    for name, content in files.items():
        Path(name).write_text(content)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(*arguments) == (2, "", f"spnmkl: {sentence}\n")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("command", ["predict", "inspect"])
def test_what_is_no_model_is_refused(run: Run, command: str) -> None:
    data = ("data.csv",) * (command == "predict")
    for path in ("none.spnmkl", "data.csv"):
        code, out, err = run(command, path, *data)
        assert (code, out) == (2, "") and err.startswith("spnmkl: ") and err.count("\n") == 1


@pytest.mark.parametrize("command", [FIT, ("predict", "m.spnmkl", "data.csv", "--out", "p.csv")])
def test_a_failed_save_keeps_the_old_file(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "the disk")

    run(*FIT)
    Path("p.csv").write_text("precious")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    code, out, err = run(*command)
    assert (code, out, err.splitlines()[-1]) == (2, "", "spnmkl: No space left on device: the disk")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["fit", "--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert all(f"\n    {code} " in out for code in {*cli.EXIT_CODES.values(), 2, 130})
    with pytest.raises(SystemExit):
        cli.main(["predict", "--help"])
    out = capsys.readouterr().out
    assert all(f"\n    {code} " in out for code in (0, 2, 130)) and "\n    3 " not in out


def test_a_terminal_sees_one_line_that_changes() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = cli.Progress(stream, shown=True)
    record = spnmkl.Record(12, 3.25, 3.0, 0.077, {"p1": 1.0, "p2": 0.0}, ("p2",), 1, 12, 0.5)
    progress(record)
    progress(record)
    progress.close()
    assert stream.getvalue().count("\r") == 2 and stream.getvalue().count("\n") == 1
    assert "iteration  12  objective 3.25        gap 7.7e-02  active weights 1 of 2" in stream.getvalue()


def test_a_file_is_told_of_every_work_once_and_then_seldom() -> None:
    now, stream = [0.0], io.StringIO()
    progress = cli.Progress(stream, shown=True, clock=lambda: now[0])
    for k in range(1, 12):
        progress.say(f"landmarks: {k},048 of 48,000 rows")
        now[0] += 1.0
    progress.say("SVM on all rows: pass 1, gap 3.5 %")
    progress.say("SVM on all rows: pass 2, gap 12 %")
    told = [line.split(" of ")[0] for line in stream.getvalue().splitlines()]
    assert told == [*(f"landmarks: {k},048" for k in (1, 6, 11)), "SVM on all rows: pass 1, gap 3.5 %"]


def test_run_as_a_program(folder: Path) -> None:
    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "spnmkl", *arguments], capture_output=True, text=True, check=False)

    version = program("--version")
    assert (version.returncode, version.stdout) == (0, f"spnmkl {spnmkl.__version__}\n")
    done = program(*FIT, "--max-iter", "1", "--tol", "1e-9")
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith("not certified")


def test_quickstart(capsys: pytest.CaptureFixture[str]) -> None:
    quickstart.main()
    out = capsys.readouterr().out
    assert "certified optimal: gap " in out and "test accuracy 9" in out
    assert "pruned: β₈ (iteration " in out
    assert "K[worst size]∘K[worst shape]" in out
