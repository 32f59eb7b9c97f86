"""The Data page without a browser: samples, uploads, columns, views, preparation."""

import gc
import gzip
import io
from dataclasses import replace
from weakref import ref

import numpy as np
import pandas as pd
import pytest
from app_pages import Downloads, bring, fine, labelled, opened, part, texts, use_template, work
from streamlit.testing.v1 import AppTest

from spnmkl.data import SAMPLES, Choices, Dataset, SplitSettings, load_sample, split_rows
from spnmkl.project.project_file import load_project, save_project
from spnmkl.structure.layout import unplaced
from spnmkl.training.settings import Settings
from spnmkl.ui.pages.data import COLUMNS, PREPARATION, SOURCE
from spnmkl.ui.parts.project import open_project
from spnmkl.ui.state.workspace import CompareChoices

MESSY = (
    "\ufeffPatient;Größe;Gewicht;<script>alert(1)</script>;Diagnose\r\n"
    'a;1,5;70,25;rot;"gesund, ja"\r\n'
    "b;1,75;NA;blau;krank\r\n"
    'c;1,6;;rot;"gesund, ja"\r\n'
    "d;1,82;81,5;grün;krank\r\n"
    'e;1,7;64,125;rot;"gesund, ja"\r\n'
    "f;1,91;n/a;blau;krank\r\n"
)
CODE = "<script>alert(1)</script>"


@pytest.fixture
def at() -> AppTest:
    return opened("data")


def upload(at: AppTest, *files: tuple[str, bytes]) -> AppTest:
    return at.file_uploader(key="data_files").set_value([(n, c, "application/octet-stream") for n, c in files]).run()


def test_the_page_opens_on_a_sample(at: AppTest) -> None:
    assert "breast" in texts(at)
    assert at.dataframe[0].value.shape == (100, 31)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_loads(at: AppTest, name: str) -> None:
    at.button(key=f"load_{name}").click().run()
    fine(at)
    assert work(at).dataset.name == name


def test_a_messy_csv(at: AppTest) -> None:
    fine(upload(at, (f"{CODE}.csv", MESSY.encode("utf-8"))))
    assert labelled(at.selectbox, "Separator").value == ";"
    assert labelled(at.selectbox, "Decimal sign").value == ","
    dataset = work(at).dataset
    assert list(dataset.frame.columns) == ["Patient", "Größe", "Gewicht", CODE, "Diagnose"]
    assert dataset.frame["Größe"].tolist() == [1.5, 1.75, 1.6, 1.82, 1.7, 1.91]
    assert dataset.frame["Gewicht"].isna().tolist() == [False, True, True, False, False, True]
    assert dataset.label == "Diagnose"
    assert sorted(dataset.classes) == ["gesund, ja", "krank"]
    assert "<script>" not in texts(at).replace("\\<script\\>", "")


def test_a_wrong_guess_can_be_corrected(at: AppTest) -> None:
    content = b"a;b;label\n1,5;2;x\n2,5;3;y\n3,5;4;x\n4,5;5;y\n"
    fine(upload(at, ("t.csv", content)))
    labelled(at.selectbox, "Decimal sign").set_value(".").run()
    fine(at)
    assert work(at).dataset.frame["a"].tolist() == ["1,5", "2,5", "3,5", "4,5"]


def test_lines_above_the_table_can_be_skipped(at: AppTest) -> None:
    upload(at, ("t.csv", b"Export of Monday; from; the clinic\nid;a;label\n1;1,5;x\n2;2,5;y\n3;3,5;x\n4;4,5;y\n"))
    labelled(at.number_input, "Lines above the table").set_value(1).run()
    fine(at)
    assert work(at).dataset.frame["a"].tolist() == [1.5, 2.5, 3.5, 4.5]
    assert labelled(at.selectbox, "Separator").value == ";"
    assert at.code[0].value.splitlines()[0] == "Export of Monday; from; the clinic"
    assert "1 line above the table skipped" in texts(at)


def test_an_upload_is_taken_at_once_and_can_be_undone(at: AppTest) -> None:
    labelled(part(at, PREPARATION).radio, "Missing values").set_value("median").run()
    part(at, SOURCE)
    before, drawn = work(at).dataset, work(at).drawing.spn
    fine(upload(at, ("t.csv", b"a;b;label\n1,5;2;x\n2,5;3;y\n3,5;4;x\n4,5;5;y\n")))
    assert work(at).dataset.name == "t.csv" and work(at).choices.missing == "refuse"
    assert work(at).drawing.spn != drawn, "nobody had touched the drawing, so that another was made"
    assert "The label is **label**" in texts(at)
    labelled(at.selectbox, "Decimal sign").set_value(".").run()
    assert work(at).dataset.frame["a"].tolist() == ["1,5", "2,5", "3,5", "4,5"]
    labelled(at.button, "Undo").click().run()
    fine(at)
    assert work(at).dataset is before and work(at).choices.missing == "median"
    assert unplaced(work(at).drawing.spn) == unplaced(drawn)
    labelled(at.button, "Use these data").click().run()
    assert work(at).dataset.name == "t.csv"
    at.button(key="load_breast_cancer").click().run()
    assert work(at).dataset.name == "breast_cancer", "the files wait until they are asked for"


TABLE = b"a;b;label\n1,5;2;x\n2,5;3;y\n3,5;4;x\n4,5;5;y\n"


def test_undo_leads_to_what_was_there_directly_before(at: AppTest) -> None:
    upload(at, ("first.csv", TABLE))
    drawn = work(at).drawing.spn
    upload(at, ("second.csv", TABLE.replace(b"a;b", b"c;d")))
    labelled(at.selectbox, "Decimal sign").set_value(".").run()
    fine(labelled(at.button, "Undo").click().run())
    assert work(at).dataset.name == "first.csv"
    assert unplaced(work(at).drawing.spn) == unplaced(drawn)


def test_undo_stays_when_the_page_was_left_and_the_next_upload_undoes_itself_alone(at: AppTest) -> None:
    upload(at, ("first.csv", TABLE))
    at.switch_page("pages/design.py").run()
    fine(at.switch_page("pages/data.py").run())
    assert "Loaded first.csv." in texts(at)
    upload(at, ("second.csv", TABLE))
    labelled(at.button, "Undo").click().run()
    assert work(at).dataset.name == "first.csv"
    upload(at, ("third.csv", TABLE))
    at.switch_page("pages/design.py").run()
    at.switch_page("pages/data.py").run()
    fine(labelled(at.button, "Undo").click().run())
    assert work(at).dataset.name == "first.csv"
    assert "Undo" not in [button.label for button in at.button]


def test_a_loaded_file_says_what_was_left_out_and_what_blocks_training(at: AppTest) -> None:
    upload(at, ("t.csv", b"id,a,y\nS1,1,u\nS2,,v\nS3,3,u\nS4,4,v\n"))
    assert "'id' tells the rows apart and is no feature." in texts(at)
    assert "**Values are missing**" in texts(at)
    labelled(part(at, PREPARATION).radio, "Missing values").set_value("mean").run()
    assert "Values are missing" not in texts(fine(part(at, SOURCE)))
    upload(at, ("t.csv", b"a,b,y\n1,5,u\n2,6,v\n3,7,u\n4,8,v\n"))
    assert "Left out" not in texts(at) and "Values are missing" not in texts(at)


def test_data_can_be_named_and_stay_the_same_to_their_runs(at: AppTest) -> None:
    upload(at, ("t.csv", TABLE))
    task = work(at).task
    work(at).trainer.book.tasks["Run 1"] = task
    labelled(at.text_input, "Name of these data").set_value("  My cohort ").run()
    assert work(at).dataset.name == "My cohort"
    assert "Loaded: **My cohort**" in texts(fine(at))
    assert work(at).trainer.book.tasks["Run 1"].dataset is work(at).dataset
    assert work(at).uploaded and "Loaded My cohort." in texts(at)
    labelled(at.text_input, "Name of these data").set_value("").run()
    assert work(at).dataset.name == "My cohort"


def test_rows_are_counted_from_1(at: AppTest) -> None:
    upload(at, ("t.csv", TABLE))
    (table,) = [t.value for t in at.dataframe if list(t.value.columns) == list(work(at).dataset.frame.columns)][-1:]
    assert list(table.index) == list(range(1, len(table) + 1))


def test_the_page_opens_where_something_is_to_be_chosen(at: AppTest) -> None:
    def opens_on() -> str:
        at.switch_page("pages/train.py").run()
        at.switch_page("pages/data.py").run()
        return at.session_state["data_part"]

    assert opens_on() == "1 · Source"
    upload(at, ("t.csv", b"a,b,y\n1,5,u\n2,,v\n3,7,u\n4,8,v\n"))
    assert at.session_state["data_part"] == "1 · Source", "it does not move under one's hands"
    assert opens_on() == "3 · Preparation"
    labelled(at.radio, "Missing values").set_value("mean").run()
    assert opens_on() == "1 · Source"
    work(at).dataset = work(at).dataset.with_label(None)
    assert opens_on() == "2 · Columns"


def test_a_view_of_columns_by_name_and_by_hand(at: AppTest) -> None:
    part(bring(at, load_sample("wine").with_views({})), COLUMNS)
    add = "Add the view"
    labelled(at.text_input, "Name of the view").set_value("mine").run()
    assert labelled(at.button, add).disabled
    labelled(at.text_input, "Columns whose name contains").set_value("HUE").run()
    assert "1 column: 'hue'." in texts(at).replace("\\", "")
    labelled(at.multiselect, "And these columns").set_value(["ash", "alcohol"]).run()
    assert "3 columns: 'alcohol', 'ash', 'hue'." in texts(at).replace("\\", "")
    fine(labelled(at.button, add).click().run())
    assert work(at).dataset.views == {"mine": ("alcohol", "ash", "hue")}


def test_nothing_to_undo_once_a_project_brought_other_data(at: AppTest) -> None:
    upload(at, ("first.csv", TABLE))
    kept = save_project(work(at).drawing.spn, load_sample("wine"), Choices(), SplitSettings(), Settings())
    work(at).comparing.repeats, work(at).comparing.runs = 5, ("Run 1",)
    open_project(work(at), load_project(kept))
    assert work(at).comparing == CompareChoices()
    at.switch_page("pages/design.py").run()
    fine(at.switch_page("pages/data.py").run())
    assert work(at).dataset.name == "wine"
    assert "Undo" not in [button.label for button in at.button]


def frame(rng: np.random.Generator, rows: int, columns: int, stem: str) -> pd.DataFrame:
    return pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"{stem}{k}" for k in range(columns)])


def test_three_tables_joined_by_id_and_labels_of_their_own(at: AppTest, downloads: Downloads) -> None:
    rng = np.random.default_rng(0)
    ids = [f"S{k:02d}" for k in range(20)]
    views = {name: frame(rng, 20, 5, f"{name}_").assign(sample=ids) for name in ("mrna", "mirna", "methylation")}
    views["mirna"] = views["mirna"].sample(frac=1, random_state=1)
    views["methylation"] = views["methylation"].iloc[:18]
    subtype = pd.DataFrame({"sample": ids, "subtype": ["basal", "luminal"] * 10})
    files = [(f"{name}.csv", table.to_csv(index=False).encode()) for name, table in views.items()]
    fine(upload(at, *files, ("labels.csv", subtype.to_csv(index=False).encode())))
    assert work(at).dataset.label == "subtype"
    assert list(work(at).dataset.views) == ["mrna", "mirna", "methylation"], "a file of labels alone is no view"
    assert "'sample' joins the files and is no feature." in texts(at)
    box = labelled(at.selectbox, "Labels are")
    assert box.options[0] == "in labels.csv, found by itself"
    box.set_value("labels.csv").run()
    assert labelled(at.selectbox, "Labels are").options[0] == "in one of the views"
    fine(at)
    dataset = work(at).dataset
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(downloads["joined.csv"])), dataset.frame)
    assert (
        dataset.frame.set_index("sample").loc[["S18", "S19"], list(dataset.views["methylation"])].isna().all(axis=None)
    )
    assert len(dataset.frame) == 20, "two samples are missing from one table"
    assert list(dataset.views) == ["mrna", "mirna", "methylation"]
    assert dataset.label == "subtype"
    first = dataset.frame.set_index("sample").loc["S03"]
    assert first["subtype"] == "luminal"
    columns = dataset.views["mirna"]
    expected = views["mirna"].set_index("sample").loc["S03"].to_numpy()
    np.testing.assert_allclose(first[list(columns)].to_numpy(float), expected)
    at.switch_page("pages/design.py").run()
    use_template(at, "grouped")
    fine(at)


def test_kernel_matrices(at: AppTest) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    stored = io.BytesIO()
    np.savez(stored, shape=X @ X.T, colour=np.exp(-((X[:, None] - X[None]) ** 2).sum(2)), y=np.arange(12) % 2)
    fine(upload(at, ("kernels.npz", stored.getvalue())))
    assert set(work(at).dataset.matrices) == {"shape", "colour"}
    at.switch_page("pages/design.py").run()
    use_template(at, "flat")
    fine(at)


def test_a_wide_gzipped_table_stays_usable(at: AppTest) -> None:
    table = frame(np.random.default_rng(0), 60, 3000, "gene").assign(label=["a", "b"] * 30)
    upload(at, ("wide.csv.gz", gzip.compress(table.to_csv(index=False).encode())))
    fine(at)
    assert work(at).dataset.label == "label"
    part(at, COLUMNS)
    assert len(labelled(at.selectbox, "Label: the column with the classes").options) <= 502
    assert all(len(shown.value) <= 500 for shown in at.dataframe)
    at.switch_page("pages/design.py").run()
    assert not at.exception
    use_template(at, "flat")
    fine(at)


def remove(at: AppTest, position: int) -> AppTest:
    """Take one of the files away by its cross; the others stay the files they were."""
    uploader = at.file_uploader(key="data_files")
    uploader._files = [file for k, file in enumerate(uploader._get_files_to_register()) if k != position]
    return at.run()


def test_corrections_stay_with_their_file(at: AppTest) -> None:
    upload(at, ("a.csv", b"a;y\n1;u\n2;v\n3;u\n"), ("b.csv", b"b,y\n1,u\n2,v\n3,u\n"))
    first = next(box for box in at.checkbox if box.label == "The first row holds names")
    first.set_value(False).run()
    fine(remove(at, 0))
    assert labelled(at.selectbox, "Separator").value == ","
    assert list(work(at).dataset.frame) == ["b", "y"]


def test_two_files_of_one_name(at: AppTest) -> None:
    first, second = b"id,x\nS1,1\nS2,2\nS3,3\n", b"id,y\nS1,u\nS2,v\nS3,u\n"
    fine(upload(at, ("t.csv", first), ("t.csv", second)))
    assert labelled(at.selectbox, "Labels are").options == ["in one of the views", "t.csv", "t.csv (2)"]
    labelled(at.selectbox, "Labels are").set_value("t.csv (2)").run()
    fine(at)
    assert work(at).dataset.label == "y"
    assert work(at).dataset.frame["x"].tolist() == [1, 2, 3]


def test_nothing_of_a_file_stays_when_it_or_its_tab_is_gone(at: AppTest) -> None:
    upload(at, ("t.csv", b"x,y\n1,u\n2,v\n3,u\n"))
    labelled(at.checkbox, "The first row holds names").set_value(False).run()
    kept = [ref(table) for *_, table in at.session_state["read_tables"].values()]
    kept += [ref(work(at).dataset), ref(work(at).files.kept[0])]
    assert len(kept) == 4
    remove(at, 0)
    at.button(key="load_breast_cancer").click().run()
    gc.collect()
    assert [reference() for reference in kept] == [None] * 4


def test_kernel_matrices_without_any_column(at: AppTest) -> None:
    stored = io.BytesIO()
    np.savez(stored, K=np.eye(4))
    fine(upload(at, ("k.npz", stored.getvalue())))
    assert work(at).dataset.frame.shape == (4, 0)


def test_a_label_without_any_value(at: AppTest) -> None:
    part(fine(upload(at, ("t.csv", b"a,b,c\n1,,u\n2,,v\n3,,u\n"))), COLUMNS)
    labelled(at.selectbox, "Label: the column with the classes").set_value("b").run()
    assert not at.error and "No row has a label." in texts(at)


def test_the_page_cuts_no_matrix(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[int] = []
    take = Dataset.take

    def counting(dataset: Dataset, rows: np.ndarray) -> Dataset:
        cut.append(len(dataset.matrices))
        return take(dataset, rows)

    monkeypatch.setattr(Dataset, "take", counting)
    table = pd.DataFrame({"y": ["u", "v"] * 5 + [None, None]})
    fine(bring(at, Dataset("k", table, "y", matrices={"K": np.eye(12)})))
    fine(part(fine(part(at, COLUMNS)), PREPARATION))
    assert cut and not any(cut)


BROKEN = {
    "empty.csv": b"",
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
    "short.xlsx": b"PK\x03\x04 no workbook",
    "none.parquet": b"PAR1",
    "bad.npz": b"PK\x03\x04",
    "bad.mat": b"MATLAB 5.0 MAT-file" + b"\0" * 200,
    "bad.arff": b"@relation x\n@attribute",
    "bad.csv.gz": b"\x1f\x8b\x08 broken",
    f"{CODE}.csv": b"",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_in_one_sentence(at: AppTest, name: str) -> None:
    before = work(at).dataset
    upload(at, (name, BROKEN[name]))
    assert not at.exception
    assert len(at.error) == 1
    assert "went wrong" not in at.error[0].value
    assert "<script>" not in at.error[0].value.replace("\\<script\\>", "")
    assert work(at).dataset is before
    assert "Use these data" not in [button.label for button in at.button]


def test_label_group_and_ignored_columns(at: AppTest) -> None:
    part(at.button(key="load_clinic").click().run(), COLUMNS)
    columns = list(work(at).dataset.frame.columns)
    other = next(c for c in columns if c not in (work(at).dataset.label, work(at).dataset.group))
    labelled(at.multiselect, "Columns to ignore").set_value([other]).run()
    fine(at)
    assert other in work(at).dataset.ignored
    labelled(at.selectbox, "Group, if samples belong together (patient, batch)").set_value("none").run()
    fine(at)
    assert work(at).dataset.group is None
    numeric = work(at).dataset.numeric[0]
    labelled(at.selectbox, "Label: the column with the classes").set_value(numeric).run()
    assert not at.exception
    assert work(at).dataset.label == numeric


def test_views_by_prefix_and_by_hand(at: AppTest) -> None:
    upload(at, ("t.csv", b"a.x,a.y,b.x,b.y,label\n1,2,3,4,p\n2,3,4,6,q\n3,1,5,5,p\n0,2,4,7,q\n"))
    assert not work(at).dataset.views
    part(at, COLUMNS)
    labelled([*at.text_input], "Separator").set_value(".").run()
    labelled(at.button, "Views from the beginnings of the names").click().run()
    fine(at)
    assert dict(work(at).dataset.views) == {"a": ("a.x", "a.y"), "b": ("b.x", "b.y")}
    labelled(at.text_input, "Name of the view").set_value(CODE).run()
    labelled(at.text_input, "Columns whose name contains").set_value(".X").run()
    labelled(at.button, "Add the view").click().run()
    fine(at)
    assert work(at).dataset.views[CODE] == ("a.x", "b.x")
    labelled(at.multiselect, "Remove views").set_value(["a", "b"]).run()
    labelled(at.button, "Remove").click().run()
    assert list(work(at).dataset.views) == [CODE]


def test_choices_survive_other_pages(at: AppTest) -> None:
    part(at, PREPARATION)
    labelled(at.radio, "Missing values").set_value("median").run()
    labelled(at.selectbox, "Numeric columns").set_value("as is").run()
    labelled(at.number_input, "Seed of the split").set_value(7).run()
    labelled(at.slider, "Rows held out for the test").set_value(0.4).run()
    at.switch_page("pages/design.py").run()
    fine(part(at.switch_page("pages/data.py").run(), PREPARATION))
    assert (work(at).choices.missing, work(at).choices.numeric) == ("median", "as is")
    assert (work(at).split.seed, work(at).split.test_share) == (7, 0.4)
    assert labelled(at.radio, "Missing values").value == "median"
    assert labelled(at.number_input, "Seed of the split").value == 7
    assert labelled(at.slider, "Rows held out for the test").value == 0.4


def test_what_will_happen_is_said_before_training(at: AppTest) -> None:
    part(at.button(key="load_clinic").click().run(), PREPARATION)
    assert not at.exception
    first = texts(at)
    labelled(at.radio, "Missing values").set_value("mean").run()
    labelled(at.radio, "Categorical columns").set_value("one-hot").run()
    fine(at)
    assert texts(at) != first


def test_only_the_open_part_is_sent_and_the_uploader_keeps_its_files(at: AppTest) -> None:
    upload(at, ("t.csv", TABLE))
    assert not at.radio and not at.multiselect
    fine(part(at, COLUMNS))
    assert [file.name for file in at.file_uploader(key="data_files").value] == ["t.csv"]
    assert "Try a sample" not in texts(at) and labelled(at.selectbox, "Label: the column with the classes")
    fine(part(at, PREPARATION))
    assert labelled(at.radio, "Missing values") and not at.multiselect
    fine(part(at, SOURCE))
    assert "Uploaded before" not in texts(at), "they are in the uploader still"
    assert labelled(at.selectbox, "Decimal sign").value == ","


def test_hostile_column_names_everywhere() -> None:
    at = opened("data")
    names = [CODE, "'quoted\" $x$ `y`", "🧬", "x" * 10_000, ":red[a] **b**"]
    table = pd.DataFrame(np.arange(50.0).reshape(10, 5), columns=names).assign(label=["a", "b"] * 5)
    upload(at, ("t.csv", table.to_csv(index=False).encode()))
    fine(at)
    for page in ("design", "data"):
        at.switch_page(f"pages/{page}.py").run()
        assert not at.exception
    at.switch_page("pages/design.py").run()
    use_template(at, "flat")
    fine(at)
    assert "<script>" not in texts(at).replace("\\<script\\>", "")


def test_rows_that_are_left_out_are_not_counted(at: AppTest) -> None:
    dataset = load_sample("clinic")
    bring(at, dataset)
    complete = dataset.frame[list(dataset.features)].notna().all(axis=1)
    work(at).choices = replace(work(at).choices, missing="drop rows")
    part(at, PREPARATION)
    parts = split_rows(dataset, 0.25, 0)
    train, test = (int(complete.iloc[rows].sum()) for rows in (parts.train, parts.test))
    assert f"{train} rows to train on, {test} to test" in texts(at)
    assert train < len(parts.train)


def test_columns_are_left_out_for_holes_in_training_rows_alone(at: AppTest) -> None:
    wine = load_sample("wine")
    parts = split_rows(wine, 0.25, 0)
    table = wine.frame.copy()
    table.loc[parts.test[0], "ash"] = table.loc[parts.train[0], "hue"] = np.nan
    part(bring(at, replace(wine, frame=table)), PREPARATION)
    labelled(at.radio, "Missing values").set_value("drop columns").run()
    assert "1 of 13 columns with missing values: left out ('hue')." in texts(at).replace("\\", "")
    assert "12 numeric columns: scaled" in texts(at).replace("\\", "")


def test_names_without_the_separator_make_no_views_and_it_is_said(at: AppTest) -> None:
    part(bring(at, load_sample("wine")), COLUMNS)
    before = work(at).dataset.views
    labelled(at.text_input, "Separator").set_value("@").run()
    labelled(at.button, "Views from the beginnings of the names").click().run()
    assert "try another separator" in texts(at)
    assert work(at).dataset.views == before
