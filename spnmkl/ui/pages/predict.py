"""The Predict page: a trained model, or one from a file, and what it says of new rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from spnmkl.charts import class_balance_chart
from spnmkl.data import Joining, Table, join_files
from spnmkl.data.guarded import guarded_csv
from spnmkl.errors import SPNMKLError
from spnmkl.project.stored_run import model_bytes
from spnmkl.reporting.endings import score_text
from spnmkl.reporting.runs_beside import ending_text
from spnmkl.training.predict import PIECE_ROWS, RIGHT, Match, Predictions, Predictor
from spnmkl.training.run import Run
from spnmkl.ui.parts.session import boundary, fragment, heading, rerun, workspace
from spnmkl.ui.parts.uploads import BY_ID, BY_ORDER, FORMATS, FOUND, JOINED, forget_others, read_files
from spnmkl.ui.parts.words import plain, slug
from spnmkl.ui.state.apart import reading_by
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted, listed, name_some

MOST_SHOWN = 1_000
PROBABILITY_HELP = (
    "Calibrated on training rows that were held out: of rows that are given 80 %, about 80 of 100 should be of it. "
    "*Inspect*, *Samples* shows whether they are."
)
NO_PROBABILITIES = " Probabilities come with the scores over folds, which the pages Train and Inspect make."
CHOICE, MODEL_FILE, ROWS_FILE = "predict_choice", "predict_model", "predict_rows"


@fragment
def predict_page() -> None:
    work = workspace()
    work.collect()
    heading("Predict — classes of new rows", "pages/runs.py", "Next: compare runs")
    left, right = st.columns([2, 3], gap="medium")
    with left, st.container(border=True, height="stretch"), boundary():
        predictor = choose_model(work)
    with right, st.container(border=True, height="stretch"):
        st.markdown("**New rows**", help="A table with the columns that the model was trained on, one sample per row.")
        if predictor is None:
            st.caption("Rows can be brought here once there is a model.")
            return
        with boundary():
            bring_rows(work, predictor)
    if work.predicting.rows is not None:
        answers(work, predictor, work.predicting.rows)


def choose_model(work: Workspace) -> Predictor | None:
    """The run that the pages show, another one, or a model from a file."""
    predicting, runs = work.predicting, work.trainer.book.runs
    st.markdown("**Model**")
    chosen = pick(work) if runs or predicting.loaded else None
    if chosen is None:
        st.markdown("**Nothing is trained yet.** Train the drawing, or load a model that was saved before.")
        st.page_link("pages/train.py", label="Train the drawing", icon=":material/arrow_forward:")
    if isinstance(chosen, Run):
        predictor = Predictor.of_run(chosen)
        if predictor is None:
            st.info(
                f"**{plain(chosen.name)}** learned from given kernel matrices. Rows of a table have no kernel values "
                "with its training samples, so that it cannot predict them; train kernels over columns for that."
            )
    else:
        predictor = chosen
    if chosen is None:
        load_model_file(work)
        return None
    if predictor is not None:
        describe(predictor, chosen if isinstance(chosen, Run) else None)
    save, load = st.columns(2)
    with save:
        offer_model(predictor)
    with load.popover("Load a model", icon=":material/upload:", width="stretch"):
        load_model_file(work)
    return predictor


def pick(work: Workspace) -> Run | Predictor | None:
    trainer, predicting = work.trainer, work.predicting
    options: list[Run | Predictor] = [*reversed(trainer.book.runs), *([predicting.loaded] if predicting.loaded else [])]
    shown = trainer.book.run
    if predicting.loaded and (predicting.from_file or shown is None):
        at = len(options) - 1
    else:
        at = next(k for k, option in enumerate(options) if isinstance(option, Run) and option is shown)

    def take() -> None:
        option = options[st.session_state[CHOICE]]
        predicting.from_file = isinstance(option, Predictor)
        if isinstance(option, Run):
            trainer.book.chosen = option.name

    st.session_state[CHOICE] = at
    st.selectbox(
        "Model",
        range(len(options)),
        format_func=lambda k: title(options[k]) if k < len(options) else "",
        key=CHOICE,
        on_change=take,
        label_visibility="collapsed",
    )
    return options[at]


def title(option: Run | Predictor) -> str:
    if isinstance(option, Predictor):
        return f"from the file {option.name}"
    return f"{option.name} · {option.dataset_name} · {score_text(option)}"


def describe(predictor: Predictor, run: Run | None) -> None:
    model = predictor.model
    classes = listed([plain(str(c)[:40]) for c in model.classes_], 6)
    ended = f" · {plain(ending_text(run))}" if run else ""
    st.caption(
        f"Tells apart: {classes}  \n{counted(len(predictor.needed.names), 'column')} needed · "
        f"{counted(len(model.support_), 'support vector')}{ended}"
    )


def offer_model(predictor: Predictor | None) -> None:
    st.download_button(
        "Download it",
        lambda: model_bytes(predictor.model) if predictor else b"",
        f"{slug(predictor.name if predictor else '')}.spnmkl",
        "application/octet-stream",
        icon=":material/download:",
        disabled=predictor is None,
        on_click="ignore",
        width="stretch",
        help="One file without any code in it. Load it here, with `spnmkl predict`, or with `SPNMKLClassifier.load`. "
        "It holds the support vectors, which are rows of the training data.",
    )


def load_model_file(work: Workspace) -> None:
    with boundary():
        file = st.file_uploader("A model file, as downloaded here or written by `spnmkl fit`", key=MODEL_FILE)
        if file is not None and work.predicting.load(file.file_id, file.name, file.getvalue()):
            rerun()


def bring_rows(work: Workspace, predictor: Predictor) -> None:
    predicting = work.predicting

    key = f"{ROWS_FILE}_{predicting.uploads}"

    def cleared() -> None:
        if not st.session_state[key]:
            predicting.take(None)

    files = st.file_uploader(
        "A table: CSV, TSV, Excel, Parquet, ARFF or LIBSVM, also gzipped; or one file per view",
        type=FORMATS,
        accept_multiple_files=True,
        key=key,
        on_change=cleared,
    )
    offers(work, predictor)
    if not files:
        forget_others([])
        return
    try:
        with st.spinner("Reading the rows"):
            tables = read_files(files, predicting.readings, reading_by(predictor.read), predictor.model)
        rows = new_rows(tables) if tables else None
    except SPNMKLError:
        predicting.take(None)  # answers about an earlier file would be taken for those about this one
        raise
    predicting.take(rows)


def new_rows(tables: list[Table]) -> Table:
    """One table as it was read, or several joined; true labels may stand in any of them."""
    if len(tables) == 1:
        return tables[0]
    how = st.radio("Rows belong together by", [BY_ID, BY_ORDER], horizontal=True, key="new_rows_by")
    shared = [name for name in tables[0].frame.columns if all(name in table.frame for table in tables[1:])]
    ask = how == BY_ID and len(shared) > 1
    column = st.selectbox("Id column", [FOUND, *shared], key="new_rows_on") if ask else FOUND
    joining = Joining("id" if how == BY_ID else "rows", None if column == FOUND else column)
    kept = st.session_state.get(JOINED)
    if kept is None or kept[0] != joining or [*map(id, kept[1])] != [*map(id, tables)]:
        kept = st.session_state[JOINED] = joining, tables, join_files(tables, joining)
    for note in kept[2].notes:
        st.caption(plain(note))
    return Table(f"{len(tables)} files", kept[2].frame)


def offers(work: Workspace, predictor: Predictor) -> None:
    """The columns that are needed, a table to fill, and rows at hand to try it with."""
    names = list(predictor.needed.names)
    run = None if work.predicting.from_file else work.trainer.book.run
    task = work.trainer.book.tasks.get(run.name) if run else None
    columns, empty, *test = st.columns(3 if task else 2)
    with columns.popover("Columns needed", width="stretch"):
        text = set(predictor.needed.read_as_text)
        known = {"column": names, "holds": ["text" if name in text else "numbers" for name in names]}
        st.dataframe(pd.DataFrame(known), hide_index=True, height=300)
    empty.download_button(
        "Empty table",
        lambda: guarded_csv(pd.DataFrame(columns=names)),
        "new rows.csv",
        "text/csv",
        on_click="ignore",
        width="stretch",
        help="A CSV file with the names of the columns, to be filled.",
    )
    for place in test:
        assert run is not None and task is not None
        place.button(
            "Try the test rows",
            width="stretch",
            on_click=take_test_rows,
            args=(work, run, task.dataset.frame),
            help=f"The {run.n_test:,} rows of {plain(run.dataset_name[:60])} that this run has not learned from.",
        )


def take_test_rows(work: Workspace, run: Run, frame: pd.DataFrame) -> None:
    work.predicting.uploads += 1  # an uploader without the file that it has
    rows = frame.iloc[run.test].set_axis(run.test)  # numbered as in the whole table
    work.predicting.take(Table(f"Test rows of {run.dataset_name}", rows))


def answers(work: Workspace, predictor: Predictor, rows: Table) -> None:
    """How the columns fit, and what the model says."""
    predicting = work.predicting
    match = predictor.match(rows.frame, predicting.accepted)
    what = f"**{plain(rows.name[:80])}** · {counted(len(rows.frame), 'row')}"
    if match.lacking:
        st.markdown(what)
        st.error(plain(match.lacking_sentence))
    if match.alike:
        offer_alike(work, match)
    if match.lacking:
        return
    said, save = st.columns([3, 1], vertical_alignment="center")
    ignored = f" · ignored: {plain(name_some(match.ignored, 5))}" if match.ignored else ""
    said.markdown(f"{what} · all {counted(len(predictor.needed.names), 'needed column')} found{ignored}")
    with boundary():
        bar = st.progress(0.0, "Predicting") if len(rows.frame) > PIECE_ROWS else None

        def tick(done: int, total: int) -> None:
            if bar is not None:
                bar.progress(done / total, f"{done:,} of {total:,} rows")

        predictions = predicting.predict(predictor, match, tick)
        if bar is not None:
            bar.empty()
        with save:
            offer_predictions(predictions.table)
        show(predictions, predictor)


def offer_alike(work: Workspace, match: Match) -> None:
    def accept() -> None:
        work.predicting.accepted = True

    pairs = pd.DataFrame({"in the file": list(match.alike.values()), "in training": list(match.alike)})
    table, button = st.columns([3, 1])
    table.dataframe(pairs, hide_index=True, height=min(38 + 35 * len(pairs), 213))
    what = "it" if len(pairs) == 1 else f"these {len(pairs):,}"
    button.button(f"Take {what} for the same", type="primary", width="stretch", on_click=accept)


def show(predictions: Predictions, predictor: Predictor) -> None:
    left, right = st.columns([2, 5], gap="medium")
    with left:
        scores = predictions.scores
        if scores is not None:
            accuracy, _, worth = scores.sentence("labelled").partition(" of ")
            st.metric("right of the rows with a label", accuracy)
            st.caption(plain(f"Of {worth}."))
        for note in predictions.notes:
            st.warning(plain(note))
        if predictions.balance["rows"].any():
            st.altair_chart(class_balance_chart(predictions.balance), width="stretch")
    with right:
        table = predictions.table
        st.dataframe(table.head(MOST_SHOWN), hide_index=True, height=380, column_config=looks(predictor))
        first = f"The first {MOST_SHOWN:,} of {len(table):,} rows. " if len(table) > MOST_SHOWN else ""
        st.caption(f"{first}{meaning(predictor)} {plain(predictions.against)}".strip())


def offer_predictions(table: pd.DataFrame) -> None:
    st.download_button(
        "Download (CSV)",
        lambda: guarded_csv(table),
        "predictions.csv",
        "text/csv",
        icon=":material/download:",
        type="primary",
        on_click="ignore",
        width="stretch",
    )


def looks(predictor: Predictor) -> dict[str, ColumnConfig]:
    helped = "The decision value: how far on its side of the boundary a row lies. It is no probability."
    scores = {name: st.column_config.NumberColumn(format="%.4f", help=helped) for name in predictor.score_names}
    scores |= {
        name: st.column_config.NumberColumn(format="percent", help=PROBABILITY_HELP)
        for name in predictor.probability_names
    }
    return {**scores, "row": st.column_config.NumberColumn(width="small"), RIGHT: st.column_config.CheckboxColumn()}


def meaning(predictor: Predictor) -> str:
    classes = predictor.model.classes_
    lacking = "" if predictor.probability_names else NO_PROBABILITIES
    if len(classes) > 2:
        return f"The class of the largest score is the prediction.{lacking}"
    return f"A positive score means {plain(str(classes[1])[:40])}; the farther from 0, the clearer.{lacking}"
