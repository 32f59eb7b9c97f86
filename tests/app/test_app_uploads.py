"""Uploaded files stay with the visit: how they were read can be corrected later."""

import numpy as np
import pandas as pd
import pytest
from app_pages import fine, labelled, opened, part, texts, train, work
from streamlit.testing.v1 import AppTest

from spnmkl.data import Joining
from spnmkl.data.unpacking import SUFFIXES
from spnmkl.ui.pages.data import COLUMNS, PREPARATION, SOURCE
from spnmkl.ui.state import uploaded_files
from spnmkl.ui.state.keeping import Keeper
from spnmkl.ui.state.uploaded_files import KeptFile, UploadedFiles

TABLE = b"a;b;label\n1,5;2;x\n2,5;3;y\n3,5;4;x\n4,5;5;y\n"
WORDS = ["1,5", "2,5", "3,5", "4,5"]


@pytest.fixture
def at() -> AppTest:
    return opened("data")


def upload(at: AppTest, *files: tuple[str, bytes]) -> AppTest:
    return at.file_uploader(key="data_files").set_value([(n, c, "application/octet-stream") for n, c in files]).run()


def come_back(at: AppTest) -> AppTest:
    at.switch_page("pages/design.py").run()
    return fine(at.switch_page("pages/data.py").run())


def reloaded(at: AppTest) -> AppTest:
    """The same workspace in a new session, as a reload of the page finds it."""
    kept = work(at)
    new = opened("data")
    new.session_state["spnmkl_workspace"] = kept
    return fine(new.run())


@pytest.mark.parametrize("later", [come_back, reloaded])
def test_how_a_file_was_read_can_be_corrected_later(at: AppTest, later) -> None:  # type: ignore[no-untyped-def]
    upload(at, ("t.csv", TABLE))
    at = later(at)
    assert "**Uploaded before**" in texts(at)
    assert work(at).dataset.frame["a"].tolist() == [1.5, 2.5, 3.5, 4.5]
    fine(labelled(at.selectbox, "Decimal sign").set_value(".").run())
    assert work(at).dataset.frame["a"].tolist() == WORDS


@pytest.mark.parametrize("later", [come_back, reloaded])
def test_a_correction_stays_and_is_not_taken_twice(at: AppTest, later) -> None:  # type: ignore[no-untyped-def]
    upload(at, ("t.csv", TABLE))
    labelled(at.selectbox, "Decimal sign").set_value(".").run()
    labelled(part(at, PREPARATION).selectbox, "Numeric columns").set_value("as is").run()
    before = work(at).dataset
    at = part(later(at), SOURCE)
    assert work(at).dataset is before and work(at).choices.numeric == "as is"
    assert labelled(at.selectbox, "Decimal sign").value == "."
    assert "Use these data" not in [button.label for button in at.button]


def test_what_was_chosen_stays_where_a_correction_leaves_the_names(at: AppTest) -> None:
    upload(at, ("t.csv", TABLE))
    labelled(part(at, COLUMNS).selectbox, "Label: the column with the classes").set_value("b").run()
    labelled(part(at, PREPARATION).selectbox, "Numeric columns").set_value("as is").run()
    fine(labelled(part(at, SOURCE).selectbox, "Decimal sign").set_value(".").run())
    assert work(at).dataset.frame["a"].tolist() == WORDS
    assert work(at).dataset.label == "b" and work(at).choices.numeric == "as is"
    labelled(at.checkbox, "The first row holds names").set_value(False).run()
    assert work(at).dataset.label != "b", "other names are other columns"


def test_several_files_keep_how_they_belong_together(at: AppTest) -> None:
    ids = [f"S{k}" for k in range(6)]
    one = pd.DataFrame({"id": ids, "code": ids[::-1], "x": np.arange(6.0)}).to_csv(index=False).encode()
    two = pd.DataFrame({"id": ids, "code": ids, "y": list("uvuvuv")}).to_csv(index=False).encode()
    upload(at, ("one.csv", one), ("two.csv", two))
    labelled(at.selectbox, "Id column").set_value("code").run()
    assert work(at).dataset.frame["x"].tolist()[:2] == [0, 1] and work(at).dataset.frame["y"].tolist()[:2] == ["v", "u"]
    before = work(at).dataset
    come_back(at)
    assert work(at).dataset is before and labelled(at.selectbox, "Id column").value == "code"
    labelled(at.radio, "Rows belong together by").set_value("their order").run()
    assert work(at).dataset.frame["y"].tolist()[:2] == ["u", "v"]


def test_lines_above_the_table_are_skipped_later_too(at: AppTest) -> None:
    upload(at, ("t.csv", b"Export of Monday; from; the clinic\n" + TABLE))
    part(come_back(at), SOURCE)
    fine(labelled(at.number_input, "Lines above the table").set_value(1).run())
    assert work(at).dataset.frame["a"].tolist() == [1.5, 2.5, 3.5, 4.5]
    come_back(at)
    assert labelled(at.number_input, "Lines above the table").value == 1


def test_a_sample_in_between_does_not_lose_the_files(at: AppTest) -> None:
    upload(at, ("t.csv", TABLE))
    come_back(at)
    at.button(key="load_breast_cancer").click().run()
    come_back(at)
    assert work(at).dataset.name == "breast_cancer"
    fine(labelled(at.button, "Use these data").click().run())
    assert work(at).dataset.name == "t.csv"


def test_every_kind_that_can_be_read_can_be_uploaded(at: AppTest) -> None:
    assert set(at.file_uploader(key="data_files").proto.type) == set(SUFFIXES) >= {".csv", ".svm", ".xlsx", ".mat"}
    fine(upload(at, ("t.svm", b"1 1:0.5 2:1\n-1 1:2\n1 2:3\n-1 1:1\n")))
    assert list(work(at).dataset.frame) == ["label", "f1", "f2"]


def test_files_can_be_forgotten(at: AppTest) -> None:
    upload(at, ("t.csv", TABLE))
    come_back(at)
    fine(labelled(at.button, "Forget").click().run())
    assert "Uploaded before" not in texts(at) and work(at).dataset.name == "t.csv"
    assert not at.session_state["read_tables"]


def test_large_files_are_not_kept_and_it_is_said(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_files, "MOST_KEPT_BYTES", 10)
    upload(at, ("t.csv", TABLE))
    assert "are not kept with this visit" in texts(at)
    come_back(at)
    assert "Uploaded before" not in texts(at) and work(at).dataset.name == "t.csv"


def kept_file(name: str, size: int) -> KeptFile:
    return KeptFile(f"id of {name}", name, bytes(size))


def test_all_visits_together_keep_so_much_and_the_oldest_files_go(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(at, ("t.csv", TABLE))
    monkeypatch.setattr(uploaded_files, "ALL_KEPT_BYTES", 100)
    second, third = UploadedFiles(), UploadedFiles()
    second.keep([kept_file("b", 60)])
    third.keep([kept_file("c", 40)])
    assert not work(at).files.kept and second.kept and third.kept
    shown = texts(come_back(at))
    assert "**Uploaded before**" in shown and "no longer kept" not in shown, "they come back from disk"
    second.keep([kept_file("d", 60)])
    monkeypatch.setattr(Keeper, "fetch_files", lambda keeper, work: None)  # as where they were never saved
    third.keep([kept_file("e", 40)])
    assert "no longer kept, because others" in texts(come_back(at))
    third.keep([kept_file("f", 41)])
    assert not second.kept and second.dropped and third.kept and not third.dropped


def test_files_that_are_too_large_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_files, "MOST_KEPT_BYTES", 10)
    monkeypatch.setattr(KeptFile, "getvalue", lambda self: pytest.fail("copied"))
    files = UploadedFiles()
    files.keep([kept_file("a", 6), kept_file("b", 5)])
    assert len(files.ids) == 2 and not files.kept


def test_other_files_are_not_joined_as_the_first_were() -> None:
    files = UploadedFiles()
    files.keep([kept_file("a", 1), kept_file("b", 1)])
    files.joining = Joining("id", "sample", 1)
    files.keep([kept_file("a", 1), kept_file("c", 1)])
    assert files.joining == Joining("id", "sample", 1)
    files.keep([kept_file("d", 1), kept_file("e", 1)])
    assert files.joining == Joining()


def test_who_is_not_in_every_file_stays_and_a_rule_is_asked_for_where_they_are_brought(at: AppTest) -> None:
    rng = np.random.default_rng(0)
    ids = [f"P{k}" for k in range(40)]
    label = np.where(rng.normal(size=40) > 0, "ill", "well")
    rna = pd.DataFrame(rng.normal(size=(40, 3)) + 2 * (label == "ill")[:, None], columns=["g1", "g2", "g3"])
    scan = pd.DataFrame(rng.normal(size=(40, 2)), columns=["width", "length"])
    files = {"rna": rna.assign(id=ids)[5:], "scan": scan.assign(id=ids)[:37], "labels": pd.DataFrame({"y": label})}
    files["labels"]["id"] = ids
    upload(at, *((f"{name}.csv", frame.to_csv(index=False).encode()) for name, frame in files.items()))
    assert len(work(fine(at)).dataset.frame) == 40 and list(work(at).dataset.views) == ["rna", "scan"]
    said = texts(at).replace("\\", "")
    assert "5 of 40 are not in 'rna.csv': 'P0', 'P1', 'P2' and 2 more." in said
    assert "**Rows lack a whole view**: before training, choose below" in said
    assert "Of 40 rows with a label, 5 lack rna, 3 lack scan." in said
    assert "Some rows lack a whole view." in texts(at.switch_page("pages/train.py").run())
    at.switch_page("pages/data.py").run()
    labelled(part(at, SOURCE).radio, "Rows that lack a whole view").set_value("drop rows").run()
    assert not work(fine(at)).lacks_values and work(at).usable(np.arange(40)) == 32
    labelled(at.radio, "Rows that lack a whole view").set_value("mean").run()
    assert not work(fine(at)).lacks_values and "Rows lack a whole view" not in texts(at)
    fine(at.switch_page("pages/train.py").run())
    train(work(at).trainer, at)
    run = work(at).trainer.book.run
    assert run is not None and run.n_train + run.n_test == 40 and run.choices.absent == "mean"
    at.switch_page("pages/predict.py").run()
    new = [("rna.csv", files["rna"][:6]), ("scan.csv", files["scan"][:6])]
    at.file_uploader(key="predict_rows_0").set_value([(n, f.to_csv(index=False).encode(), "text/csv") for n, f in new])
    said = texts(fine(at.run())).replace("\\", "")
    assert "5 of 11 are not in 'rna.csv'" in said and "5 rows lack the view 'rna'" in said
