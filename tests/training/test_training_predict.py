"""New rows through a model: columns by name, the library's numbers, and clear words for what does not fit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl import SPN, Kernel, Product, SPNMKLClassifier, Sum
from spnmkl.cli.commands import main
from spnmkl.data import Choices, Dataset, SplitSettings, load_sample
from spnmkl.errors import SPNMKLError
from spnmkl.project.stored_run import model_bytes
from spnmkl.training import predict
from spnmkl.training.predict import Predictor
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

SPLIT = SplitSettings(0.3, 3)


def trained(dataset: Dataset, choices: Choices | None = None) -> Run:
    return train(prepare(dataset.template("flat"), dataset, choices or Choices(missing="mean"), SPLIT), Settings())


@pytest.fixture(scope="module")
def wine() -> Run:
    return trained(load_sample("wine"))


@pytest.fixture(scope="module")
def clinic() -> Run:
    """Text columns, gaps and an id."""
    return trained(load_sample("clinic"))


@pytest.fixture(scope="module")
def cancer() -> Run:
    return trained(load_sample("breast_cancer"), Choices())


def predictor(run: Run) -> Predictor:
    found = Predictor.of_run(run)
    assert found is not None
    return found


@pytest.mark.parametrize("sample", ["wine", "clinic", "breast_cancer"])
def test_the_numbers_are_those_of_the_command_line_and_of_the_classifier(
    sample: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue({"breast_cancer": "cancer"}.get(sample, sample))
    new = load_sample(sample).frame.iloc[run.test]
    content = new.to_csv(index=False).encode()
    (tmp_path / "new.csv").write_bytes(content)
    (tmp_path / "m.spnmkl").write_bytes(model_bytes(predictor(run).model))
    arguments = ["predict", str(tmp_path / "m.spnmkl"), str(tmp_path / "new.csv"), "--scores"]
    assert main([*arguments, "--out", str(tmp_path / "out.csv")]) == 0
    expected = pd.read_csv(tmp_path / "out.csv")

    ours = predictor(run)
    found = ours.predict(ours.match(ours.read("new.csv", content).frame))
    assert found.table["prediction"].astype(str).tolist() == expected["prediction"].astype(str).tolist()
    np.testing.assert_allclose(found.table[ours.score_names], expected.drop(columns="prediction"), atol=1e-12)

    model = SPNMKLClassifier.load(tmp_path / "m.spnmkl")
    X = run.preparation.transform(new)
    np.testing.assert_allclose(
        found.table[ours.score_names].to_numpy().squeeze(), model.decision_function(X), atol=1e-12
    )
    assert found.scores is not None
    assert found.scores.accuracy == run.test_scores.accuracy
    assert found.table["right"].tolist() == run.test_scores.right.tolist()


def test_pieces_change_nothing(cancer: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, frame = predictor(cancer), load_sample("breast_cancer").frame
    whole = ours.predict(ours.match(frame)).table
    monkeypatch.setattr(predict, "PIECE_ROWS", 100)
    said: list[tuple[int, int]] = []
    pieces = ours.predict(ours.match(frame), lambda done, total: said.append((done, total))).table
    pd.testing.assert_frame_equal(whole, pieces, rtol=1e-12)
    assert said == [(0, 569), (100, 569), (200, 569), (300, 569), (400, 569), (500, 569), (569, 569)]


def test_codes_written_as_numbers_stay_text() -> None:
    """A column of codes like 01 is text in training; in a file of few rows it looks like a number."""
    rng = np.random.default_rng(0)
    codes = rng.choice(["01", "02", "x3"], 60)
    frame = pd.DataFrame({"code": codes, "label": np.where(codes == "01", "a", "b")})
    run = trained(Dataset("coded", frame, "label"))
    ours = predictor(run)
    table = ours.read("new.csv", b"code\n01\n02\n01\n")
    assert ours.predict(ours.match(table.frame)).table["prediction"].tolist() == ["a", "b", "a"]
    halves = pd.DataFrame({"code": pd.array(["01", "x3"] * 2, dtype=object)})
    assert ours.predict(ours.match(halves)).table["prediction"].tolist() == ["a", "b"] * 2


def test_a_table_is_read_so_that_its_columns_are_found(wine: Run) -> None:
    """One row of numbers under names that look like numbers too, and samples that stand in columns."""
    ours, frame = predictor(wine), load_sample("wine").frame.drop(columns="cultivar").iloc[:4]
    turned = frame.T.to_csv(header=[f"Sample{k}" for k in range(4)]).encode()
    assert not ours.match(ours.read("turned.csv", turned).frame).lacking
    one = frame.iloc[:1].to_csv(index=False).encode()
    assert not ours.match(ours.read("one.csv", one).frame).lacking


def test_columns_that_are_missing_ignored_or_nearly_right(wine: Run) -> None:
    ours, frame = predictor(wine), load_sample("wine").frame
    match = ours.match(frame.drop(columns=["ash", "hue"]).assign(extra=1.0, note="n"))
    assert match.lacking == ("ash", "hue")
    assert match.ignored == ("extra", "note")
    assert "lacks 2 columns of training: 'ash', 'hue'" in match.lacking_sentence
    with pytest.raises(SPNMKLError, match="'ash', 'hue'"):
        ours.predict(match)

    near = frame.rename(columns={"ash": " Ash", "malic_acid": "Malic Acid", "cultivar": "Cultivar"})
    match = ours.match(near)
    assert match.alike == {"malic_acid": "Malic Acid", "ash": " Ash", "cultivar": "Cultivar"}
    assert match.lacking == ("malic_acid", "ash")
    assert "'Malic Acid', which may be 'malic_acid'" in match.lacking_sentence
    accepted = ours.match(near, accept=True)
    assert not accepted.lacking
    pd.testing.assert_frame_equal(ours.predict(accepted).table, ours.predict(ours.match(frame)).table)

    doubtful = frame.drop(columns="ash").assign(Ash=1.0, **{"A S H": 2.0})
    assert not ours.match(doubtful).alike, "two columns could be meant"


def test_what_identifies_a_row_stays_beside_it(wine: Run) -> None:
    ours = predictor(wine)
    frame = load_sample("wine").frame.iloc[:5].assign(bottle=list("abcde"), Sample_ID=range(5), shelf=1)
    match = ours.match(frame)
    assert match.ids == ("bottle", "Sample_ID")
    assert match.ignored == ("shelf",)
    table = ours.predict(match).table
    assert list(table)[:4] == ["row", "bottle", "Sample_ID", "prediction"]
    assert table["bottle"].tolist() == list("abcde")


def test_rows_with_gaps_get_no_answer_unless_training_fills_them(cancer: Run, wine: Run) -> None:
    frame = load_sample("breast_cancer").frame.iloc[:6].copy()
    frame.loc[frame.index[[1, 4]], "mean area"] = np.nan
    ours = predictor(cancer)
    found = ours.predict(ours.match(frame))
    assert found.table["prediction"].isna().tolist() == [False, True, False, False, True, False]
    assert found.table["score"].isna().tolist() == [False, True, False, False, True, False]
    assert found.scores is not None
    assert found.scores.n == 4
    assert found.notes[0].startswith("2 rows without a prediction, for missing values in 'mean area'")
    assert found.balance["rows"].sum() == 4

    filled = load_sample("wine").frame.iloc[:3].copy()
    filled.loc[filled.index[0], "ash"] = np.nan
    assert not predictor(wine).predict(predictor(wine).match(filled)).table["prediction"].isna().any()


def test_rows_known_by_a_view_without_weight_alone_are_answered_as_test_rows_are() -> None:
    """Somebody of whom no view is known gets no answer, however many views have weight."""
    views = {"x": ("x_0", "x_1"), "y": ("y_0", "y_1"), "z": ("z_0", "z_1")}
    columns = [c for members in views.values() for c in members]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 6)), columns=columns)
    frame["kind"] = np.where(frame["x_0"] + frame["y_0"] > 0, "up", "down")
    frame.loc[::5, ["x_0", "x_1", "y_0", "y_1"]] = np.nan
    dataset = Dataset("views", frame, "kind", (), views)
    weighed = SPN(Sum(*(Product(Kernel("linear", features=list(views[v]))) for v in "xy")))
    choices, split = Choices(absent="mean"), SplitSettings(0.25, 1)
    run = train(prepare(weighed, dataset, choices, split), Settings())
    ours, asked = predictor(run), frame.iloc[run.test].copy()
    found = ours.predict(ours.match(asked))
    assert found.scores is not None and found.scores.n == run.n_test == 15
    assert found.scores.accuracy == run.test_scores.accuracy
    asked.loc[asked.index[0], columns] = np.nan
    assert ours.predict(ours.match(asked)).table["prediction"].isna().sum() == 1


def test_labels_that_are_missing_or_foreign_are_not_counted(wine: Run) -> None:
    frame = load_sample("wine").frame.iloc[:6].copy()
    frame["cultivar"] = frame["cultivar"].astype(object)
    frame.loc[frame.index[0], "cultivar"] = None
    frame.loc[frame.index[1], "cultivar"] = "Merlot"
    ours = predictor(wine)
    found = ours.predict(ours.match(frame))
    assert found.scores is not None
    assert found.scores.n == 4
    assert found.notes[1:] == ("1 row of a class that training did not have, such as 'Merlot': not counted.",)
    nothing = ours.predict(ours.match(frame.drop(columns="cultivar")))
    assert nothing.scores is None
    assert "right" not in nothing.table


def test_whole_numbers_as_classes() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "label": rng.integers(0, 2, 60) + 1})
    frame["x"] += 3 * frame["label"]
    ours = predictor(trained(Dataset("numbers", frame, "label")))
    found = ours.predict(ours.match(frame.assign(label=frame["label"].astype(float))))
    assert found.table["prediction"].dtype.kind == "i"
    assert found.scores is not None
    assert found.scores.n == 60


def _without(model: SPNMKLClassifier, folder: Path, **extra: object) -> bytes:
    file = folder / "other.spnmkl"
    model.save(file, extra=extra)
    return file.read_bytes()


def test_a_model_of_the_library_alone(cancer: Run, tmp_path: Path) -> None:
    """Without a preparation its columns are taken as they are."""
    X = load_sample("breast_cancer").frame[["mean area", "mean texture"]]
    y = load_sample("breast_cancer").y
    model = SPNMKLClassifier(C=1.0, weights="certified").fit(X / X.std(), y)
    model.save(tmp_path / "m.spnmkl")
    ours = Predictor.from_file("m.spnmkl", (tmp_path / "m.spnmkl").read_bytes())
    found = ours.predict(ours.match(X / X.std()))
    np.testing.assert_allclose(found.table["score"], model.decision_function(X / X.std()), atol=1e-12)
    nameless = SPNMKLClassifier(C=1.0, weights="certified").fit(X.to_numpy() / X.std().to_numpy(), y)
    nameless.save(tmp_path / "n.spnmkl")
    with pytest.raises(SPNMKLError, match="columns without names"):
        Predictor.from_file("n.spnmkl", (tmp_path / "n.spnmkl").read_bytes())


BAD: dict[str, Callable[[SPNMKLClassifier, Path], bytes]] = {
    "nothing": lambda model, folder: b"",
    "text": lambda model, folder: b"hello",
    "cut": lambda model, folder: model_bytes(model)[:2000],
    "other columns": lambda model, folder: _without(
        model, folder, preparation={"version": 1, "choices": {}, "columns": []}
    ),
    "no preparation": lambda model, folder: _without(model, folder, preparation=[1, 2]),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", ["m.spnmkl", "../../etc/passwd", "..", "a/b\\c:<script>.spnmkl", "x" * 300])
def test_a_bad_model_file_is_refused_in_a_sentence(cancer: Run, kind: str, name: str, tmp_path: Path) -> None:
    data = BAD[kind](predictor(cancer).model, tmp_path)
    with pytest.raises(SPNMKLError) as refused:
        Predictor.from_file(name, data)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_an_empty_table_is_refused(wine: Run) -> None:
    ours = predictor(wine)
    with pytest.raises(SPNMKLError, match="no row"):
        ours.predict(ours.match(load_sample("wine").frame.iloc[:0]))


@pytest.fixture(scope="module")
def sites() -> tuple[pd.DataFrame, Run]:
    """Classes that x and the site tell; a view whose kernel is pruned; a numeric id; gaps."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(90, 4)), columns=["x", "y", "noise", "hum"])
    frame["site"] = rng.choice(["Rome", "Bern"], 90)
    frame["label"] = np.where(frame["x"] + (frame["site"] == "Rome") > 0.4, "ill", "well")
    frame["number_id"] = rng.permutation(90) + 1000
    frame.loc[5, "x"] = np.nan
    views = {"signal": ("x", "y"), "static": ("noise", "hum"), "place": ("site",)}
    dataset = Dataset("sites", frame, "label", ignored=("number_id",), views=views)
    spn = SPN(
        Sum(
            Product(Kernel("rbf", features=["x", "y"])),
            Product(Kernel("hamming", features=["site"])),
            Product(Kernel("rbf", gamma=1e-6, features=["noise", "hum"])),
        )
    )
    run = train(prepare(spn, dataset, Choices(missing="mean"), SPLIT), Settings())
    assert len(run.solution.pruned) == 1
    return frame, run


def test_columns_that_only_pruned_kernels_saw_may_be_absent(sites: tuple[pd.DataFrame, Run]) -> None:
    frame, run = sites
    ours = Predictor.from_file("m.spnmkl", model_bytes(predictor(run).model))
    assert run.preparation.names == ("x", "y", "noise", "hum", "site")
    assert ours.needed.names == run.used.names == ("x", "y", "site")
    whole = ours.predict(ours.match(frame)).table
    fewer = ours.predict(ours.match(frame.drop(columns=["noise", "hum"]))).table
    np.testing.assert_allclose(fewer["score"], whole["score"], rtol=1e-12)
    X = run.preparation.transform(frame)
    np.testing.assert_allclose(whole["score"], predictor(run).model.decision_function(X), atol=1e-12)
    assert ours.match(frame.drop(columns=["noise", "y"])).lacking == ("y",)


def test_a_model_that_uses_nothing_needs_nothing(sites: tuple[pd.DataFrame, Run]) -> None:
    frame, _ = sites
    dataset = Dataset("sites", frame, "label", ignored=("number_id", "site"))
    nothing = predictor(
        train(prepare(dataset.template("flat"), dataset, Choices(missing="mean"), SPLIT), Settings(C=1e-6))
    )
    assert nothing.needed.names == ()
    assert len(set(nothing.predict(nothing.match(frame[["number_id"]])).table["prediction"])) == 1


def test_filled_and_unknown_values_are_told_and_marked(sites: tuple[pd.DataFrame, Run]) -> None:
    frame, run = sites
    new = frame.iloc[10:15].reset_index(drop=True)
    new.loc[[0, 1], "x"], new.loc[1, "y"], new.loc[3, "site"], new.loc[4, "noise"] = np.nan, np.nan, "Oslo", np.nan
    found = predictor(run).predict(predictor(run).match(new))
    assert found.notes[:2] == ("1 row lacks the view 'signal': its columns are filled.", "1 value was filled in 1 row.")
    assert found.notes[2].startswith("'site': 'Oslo' is unknown")
    assert found.notes[2].endswith("1 row.")
    assert found.table["filled or unknown"].tolist() == ["x filled", "view signal missing", "", "site unknown", ""]
    usual = predictor(run).predict(predictor(run).match(frame.iloc[10:15]))
    assert [note for note in usual.notes if "trained on" not in note] == []
    assert "filled or unknown" not in usual.table


def test_the_command_line_tells_of_them_too(
    sites: tuple[pd.DataFrame, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, run = sites
    (tmp_path / "m.spnmkl").write_bytes(model_bytes(predictor(run).model))
    new = frame.iloc[10:15].drop(columns=["noise", "hum"]).assign(site="Oslo", x=np.nan)
    new.to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", str(tmp_path / "m.spnmkl"), str(tmp_path / "new.csv")]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("number_id,prediction\n")
    assert "spnmkl: 5 values were filled in 5 rows." in err
    assert "spnmkl: 'site': 'Oslo' is unknown" in err
    new.drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", str(tmp_path / "m.spnmkl"), str(tmp_path / "new.csv")]) == 2
    err = capsys.readouterr().err
    assert "lacks 1 column of training: 'y'" in err
    assert "rename" not in err, "an id is no feature under another name"
    assert "closest" not in err, "x is the closest name, but the file has it already as itself"


def test_a_view_that_is_absent_is_named(sites: tuple[pd.DataFrame, Run]) -> None:
    frame, run = sites
    ours = Predictor.from_file("m.spnmkl", model_bytes(predictor(run).model))
    said = ours.match(frame[["site", "label"]]).lacking_sentence
    assert said.startswith("No file gives the view 'signal' (columns 'x', 'y').")
    both = ours.match(frame[["y", "label"]]).lacking_sentence
    assert "No file gives the view 'place' (columns 'site'). The table lacks 1 column of training: 'x'" in both
    assert "No file" not in ours.match(frame[["y", "site"]]).lacking_sentence
    assert "No file" not in ours.match(frame.drop(columns="site").assign(SITE="Rome")).lacking_sentence


def test_rows_keep_their_numbers_and_their_id(sites: tuple[pd.DataFrame, Run]) -> None:
    frame, run = sites
    ours = predictor(run)
    table = ours.predict(ours.match(frame.iloc[run.test].rename(columns={"number_id": "code"}))).table
    assert table["row"].tolist() == (run.test + 1).tolist()
    known = ours.predict(ours.match(frame)).table
    assert known["number_id"].tolist() == frame["number_id"].tolist()
