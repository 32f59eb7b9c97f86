"""The Predict page without a browser: models, rows that fit and rows that do not, and the library's numbers."""

from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from app_pages import Downloads, bring, fine, labelled, opened, texts, train, work
from streamlit.testing.v1 import AppTest

from spnmkl import SPN, Kernel, Product, SPNMKLClassifier, Sum
from spnmkl.cli.commands import main
from spnmkl.data import Choices, Dataset, load_sample
from spnmkl.training.predict import PIECE_ROWS


@pytest.fixture
def at() -> AppTest:
    """A page with one run on wine."""
    at = opened("predict")
    bring(at, load_sample("wine"), load_sample("wine").template("flat"))
    train(work(at).trainer, at)
    return fine(at.run())


def give_rows(at: AppTest, name: str, content: bytes, *others: tuple[str, bytes]) -> AppTest:
    key = f"predict_rows_{work(at).predicting.uploads}"
    return at.file_uploader(key=key).set_value([(n, c, "text/csv") for n, c in ((name, content), *others)]).run()


def give_model(at: AppTest, name: str, content: bytes) -> AppTest:
    return at.file_uploader(key="predict_model").set_value((name, content, "application/octet-stream")).run()


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def predictions(at: AppTest) -> pd.DataFrame:
    (found,) = [table.value for table in at.dataframe if "prediction" in table.value]
    return found


def test_without_a_training_the_page_leads_to_one() -> None:
    at = opened("predict")
    assert "Nothing is trained yet" in texts(at)
    assert [link.page for link in at.get("page_link")][-1] == "train"
    assert not [uploader for uploader in at.get("file_uploader") if "rows" in uploader.key]


def test_predictions_equal_the_library_and_the_command_line(at: AppTest, downloads: Downloads, tmp_path: Path) -> None:
    new = load_sample("wine").frame.sample(50, random_state=1).assign(bottle=[f"b{k}" for k in range(50)])
    fine(give_rows(at, "new.csv", csv(new)))
    got = pd.read_csv(StringIO(downloads["predictions.csv"].decode()))
    assert got["bottle"].tolist() == new["bottle"].tolist()

    (tmp_path / "m.spnmkl").write_bytes(downloads["Run_1.spnmkl"])
    (tmp_path / "new.csv").write_bytes(csv(new))
    out = tmp_path / "out.csv"
    assert main(["predict", str(tmp_path / "m.spnmkl"), str(tmp_path / "new.csv"), "--scores", "--out", str(out)]) == 0
    told = pd.read_csv(out)
    assert got["prediction"].tolist() == told["prediction"].tolist()
    assert got["bottle"].tolist() == told["bottle"].tolist()
    scores = list(told.filter(like="score"))
    np.testing.assert_allclose(got[scores], told[scores], atol=1e-12)

    run = work(at).trainer.book.run
    assert run is not None
    X = run.preparation.transform(load_sample("wine").frame)
    y = load_sample("wine").y
    model = SPNMKLClassifier(run.spn).fit(X.iloc[run.train], y[run.train])
    np.testing.assert_allclose(got[scores], model.decision_function(X.loc[new.index]), atol=1e-9)
    assert got["prediction"].tolist() == model.predict(X.loc[new.index]).tolist()
    accuracy = np.mean(model.predict(X.loc[new.index]) == y[new.index])
    assert at.metric[0].value == f"{100 * accuracy:.1f} %"
    assert got["right"].mean() == accuracy


def test_several_files_are_joined_as_for_training(at: AppTest) -> None:
    whole = load_sample("wine").frame.iloc[:30].assign(bottle_id=[f"b{k}" for k in range(30)])
    fine(give_rows(at, "new.csv", csv(whole)))
    expected = predictions(at).set_index("bottle_id")
    names = list(whole.columns[:13])
    first, second = whole[["bottle_id", *names[:6]]], whole[["bottle_id", *names[6:], "cultivar"]]
    shuffled = second.sample(frac=1, random_state=0).iloc[:25]
    fine(give_rows(at, "first.csv", csv(first), ("second.csv", csv(shuffled))))
    got = predictions(at).set_index("bottle_id")
    assert list(got.index) == list(whole["bottle_id"])
    scores = list(got.filter(like="score"))
    there = got.loc[shuffled["bottle_id"]]
    assert got.drop(index=there.index)[scores].isna().all(axis=None), "they lack columns that the model needs"
    np.testing.assert_allclose(there[scores], expected.loc[there.index, scores])
    assert "5 of 30 are not in 'second.csv': 'b0', 'b3', 'b12' and 2 more." in texts(at).replace("\\", "")

    give_rows(at, "first.csv", csv(first), ("second.csv", csv(second.drop(columns="bottle_id"))))
    assert "No column of ids is shared by 'first.csv', 'second.csv'" in at.error[0].value.replace("\\", "")
    assert work(at).predicting.rows is None
    labelled(at.radio, "Rows belong together by").set_value("their order").run()
    fine(at)
    np.testing.assert_allclose(predictions(at)[scores], expected[scores])


def test_without_labels_there_is_no_accuracy(at: AppTest) -> None:
    fine(give_rows(at, "new.csv", csv(load_sample("wine").frame.drop(columns="cultivar"))))
    assert not at.metric
    assert len(predictions(at)) == 178
    assert "all 13 needed columns found" in texts(at)


def test_columns_that_do_not_fit_are_named(at: AppTest) -> None:
    give_rows(at, "new.csv", csv(load_sample("wine").frame.drop(columns=["ash", "hue"]).assign(**{"<b>x</b>": 1})))
    (error,) = at.error
    assert "lacks 2 columns of training" in error.value
    assert "'ash', 'hue'" in error.value
    assert "<b>" not in error.value
    assert not [table for table in at.dataframe if "prediction" in table.value]
    fine(give_rows(at, "right.csv", csv(load_sample("wine").frame)))
    assert len(predictions(at)) == 178


def test_names_that_are_nearly_right_are_offered(at: AppTest) -> None:
    wrong = load_sample("wine").frame.rename(columns={"ash": "ASH", "hue": " Hue "})
    give_rows(at, "new.csv", csv(wrong))
    assert "'ASH', which may be 'ash'" in at.error[0].value
    labelled(at.button, "Take these 2 for the same").click().run()
    fine(at)
    expected = predictions(at)
    fine(give_rows(at, "right.csv", csv(load_sample("wine").frame)))
    pd.testing.assert_frame_equal(predictions(at), expected)


def test_the_test_rows_give_the_accuracy_of_the_run(at: AppTest) -> None:
    labelled(at.button, "Try the test rows").click().run()
    fine(at)
    run = work(at).trainer.book.run
    assert run is not None
    assert len(predictions(at)) == run.n_test
    assert at.metric[0].value == f"{100 * run.test_scores.accuracy:.1f} %"


def test_predictions_survive_another_page(at: AppTest) -> None:
    fine(give_rows(at, "new.csv", csv(load_sample("wine").frame.iloc[:20])))
    before = predictions(at)
    at.switch_page("pages/data.py").run()
    fine(at.switch_page("pages/predict.py").run())
    pd.testing.assert_frame_equal(predictions(at), before)


def test_many_rows_are_predicted_in_pieces(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    decide = SPNMKLClassifier.decision_function
    monkeypatch.setattr(
        SPNMKLClassifier, "decision_function", lambda self, X: (steps.append(len(X)), decide(self, X))[1]
    )
    many = pd.concat([load_sample("wine").frame] * 30, ignore_index=True)
    fine(give_rows(at, "many.csv", csv(many)))
    assert steps == [PIECE_ROWS, PIECE_ROWS, len(many) - 2 * PIECE_ROWS]
    assert len(predictions(at)) == 1000
    assert "The first 1,000 of 5,340 rows" in texts(at)
    fine(at.run())
    assert len(steps) == 3, "nothing is predicted twice"


def test_a_model_file_is_used_beside_the_runs(at: AppTest, downloads: Downloads) -> None:
    fine(at.run())
    saved = downloads["Run_1.spnmkl"]
    train(work(at).trainer, at, C=0.01)
    fine(give_rows(at.run(), "new.csv", csv(load_sample("wine").frame)))
    second = predictions(at)
    fine(give_model(at, "old <i>model</i>.spnmkl", saved))
    assert work(at).predicting.from_file
    first = predictions(at)
    assert not np.allclose(first.filter(like="score"), second.filter(like="score"))
    assert at.selectbox(key="predict_choice").value == 2

    at.selectbox(key="predict_choice").set_value(1).run()
    fine(at)
    assert work(at).trainer.book.run is work(at).trainer.book.runs[0], "the pages show the run that was chosen"
    pd.testing.assert_frame_equal(predictions(at), first)


def test_another_file_of_rows_is_read_in_its_own_way(at: AppTest) -> None:
    rows = load_sample("wine").frame.iloc[:20]
    fine(give_rows(at, "new.csv", rows.to_csv(index=False, sep=";").encode()))
    assert labelled(at.selectbox, "Separator").value == ";"
    fine(give_rows(at, "new.csv", csv(rows)))
    assert labelled(at.selectbox, "Separator").value == ","
    assert len(predictions(at)) == 20


def test_how_a_run_ended_is_shown_as_text(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spnmkl.ui.pages.predict.ending_text", lambda run: "[here](https://example.org)")
    assert "\\[here\\]\\(https" in texts(at.run())


@pytest.mark.parametrize("content", [b"", b"no model", b"PK\x03\x04 no zip"])
def test_a_bad_model_file_changes_nothing(at: AppTest, content: bytes) -> None:
    fine(give_rows(at, "new.csv", csv(load_sample("wine").frame)))
    before = predictions(at)
    give_model(at, "bad.spnmkl", content)
    assert len(at.error) == 1
    assert "'bad.spnmkl'" in at.error[0].value.replace("\\", "")
    assert work(at).predicting.loaded is None
    pd.testing.assert_frame_equal(predictions(at), before)


def test_a_model_file_alone_is_enough(at: AppTest, downloads: Downloads) -> None:
    fine(at.run())
    saved = downloads["Run_1.spnmkl"]
    fresh = opened("predict")
    fine(give_model(fresh, "model.spnmkl", saved))
    fine(give_rows(fresh, "new.csv", csv(load_sample("wine").frame.iloc[:30])))
    assert len(predictions(fresh)) == 30


def test_given_matrices_cannot_predict_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.array(["a", "b"] * 20)
    X[y == "b"] += 2
    dataset = Dataset("given", pd.DataFrame({"label": y}), "label", matrices={"both": X @ X.T})
    at = opened("predict")
    bring(at, dataset, SPN(Sum(Product(Kernel("precomputed", label="both")))))
    train(work(at).trainer, at)
    fine(at.run())
    assert "given kernel matrices" in texts(at)
    assert not [uploader for uploader in at.get("file_uploader") if "rows" in uploader.key]


def test_rows_that_are_no_table_are_refused(at: AppTest) -> None:
    fine(give_rows(at, "new.csv", csv(load_sample("wine").frame)))
    give_rows(at, "new.parquet", b"PAR1 no parquet")
    assert len(at.error) == 1
    assert work(at).predicting.rows is None


def test_values_that_were_filled_or_unknown_are_told() -> None:
    at = opened("predict")
    dataset = load_sample("clinic")
    bring(at, dataset, dataset.template("flat"))
    work(at).choices = Choices(missing="mean")
    train(work(at).trainer, at)
    new = dataset.frame.iloc[:4].assign(body__bmi=np.nan, care__ward="Z")
    fine(give_rows(at.run(), "new.csv", csv(new)))
    said = [warning.value.replace("\\", "") for warning in at.warning]
    assert any("filled in 4 rows" in note for note in said)
    assert any("'care__ward': 'Z' is unknown" in note for note in said)
    assert predictions(at)["filled or unknown"].str.contains("care__ward unknown").all()


def test_new_rows_are_not_asked_for_labels_and_a_missing_view_is_named() -> None:
    frame = load_sample("wine").frame.assign(bottle_id=[f"b{k}" for k in range(178)])
    columns = list(load_sample("wine").frame.columns[:6])
    views = {"taste": tuple(columns[:3]), "look": tuple(columns[3:])}
    dataset = Dataset("two", frame[["bottle_id", *columns, "cultivar"]], "cultivar", ("bottle_id",), views)
    at = opened("predict")
    bring(at, dataset, SPN(Sum(*(Product(Kernel("rbf", features=list(names))) for names in views.values()))))
    train(work(at).trainer, at)
    taste, look = (csv(frame[["bottle_id", *names]].iloc[:9]) for names in views.values())
    fine(give_rows(at.run(), "taste.csv", taste, ("look.csv", look)))
    assert len(predictions(at)) == 9
    assert not [box for box in at.selectbox if box.label == "Labels are"]
    give_rows(at, "taste.csv", taste)
    assert "No file gives the view 'look' (columns" in at.error[0].value.replace("\\", "")


def test_test_rows_are_numbered_as_in_the_whole_table(at: AppTest) -> None:
    labelled(at.button, "Try the test rows").click().run()
    run = work(fine(at)).trainer.book.run
    assert run is not None
    assert predictions(at)["row"].tolist() == (run.test + 1).tolist()
