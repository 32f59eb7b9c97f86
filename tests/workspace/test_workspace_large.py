"""Whatever the app accepts, saves or exports is read again, also where it packs to a small part of its size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import small_dataset, trained
from test_workspace_store import SPNS, state

from spnmkl.data import Dataset, read_file, unpacking
from spnmkl.errors import DataError
from spnmkl.project import project_file
from spnmkl.workspace.exchange import exported, imported
from spnmkl.workspace.files import FileStore
from spnmkl.workspace.forms import DataForms, DataReader, run_bytes, run_of
from spnmkl.workspace.place import Place
from spnmkl.workspace.state import KeptRun
from spnmkl.workspace.store import WorkspaceStore


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that allows small files next to nothing, so that small data are as good as large ones."""
    monkeypatch.setattr(unpacking, "FREE_BYTES", 10_000)


def flags(rows: int = 2000, columns: int = 40) -> Dataset:
    """Zeros and ones, which Parquet packs to a bit each."""
    X = (np.random.default_rng(0).random((rows, columns)) < 0.02).astype(np.int64)
    names = [f"f{k}" for k in range(columns)]
    return Dataset("flags.csv", pd.DataFrame(X, columns=names).assign(y=np.tile(["u", "v"], rows // 2)), "y")


def csv(dataset: Dataset) -> bytes:
    return dataset.frame.to_csv(index=False).encode()


def test_data_that_pack_well_come_back(tmp_path: Path, strict: None) -> None:
    dataset = flags()
    assert read_file("flags.csv", csv(dataset)).frame.equals(dataset.frame), "the app takes them"
    store = WorkspaceStore(Place(tmp_path))
    done = store.save(None, state(dataset))
    found = store.load(done.id)
    assert done.remarks == () and found.lost == ()
    assert found.saved.state.dataset is not None and found.saved.state.dataset.same(dataset)
    store.close()


def test_a_run_and_matrices_that_pack_well_come_back(tmp_path: Path, strict: None) -> None:
    run = trained().run
    assert run_of(run_bytes(run), "Run 1").solution.beta == run.solution.beta
    frame = flags(600).frame
    given = Dataset("given", frame, "y", matrices={"one": np.eye(len(frame))})
    files = FileStore(tmp_path)
    assert DataReader(files).dataset(DataForms(files).row(given)).same(given)


def test_an_exported_project_is_imported(strict: None) -> None:
    known, dataset = trained(), flags(1000)
    given = replace(dataset, matrices={"one": np.eye(1000)})
    zipped = exported(state(given, runs=(KeptRun("1" * 32, known.run, known.dataset),)))
    back = imported(zipped, "p.zip")
    assert back.dataset is not None and back.dataset.same(given) and len(back.runs) == 1
    assert exported(back) and len(zipped) < unpacking.CELL_BYTES * given.frame.size


def test_a_foreign_project_that_unfolds_is_refused_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    zipped = exported(state(flags()))
    monkeypatch.setattr(unpacking, "FREE_BYTES", 10_000)
    with pytest.raises(DataError, match=r"'data.parquet' would take more than .*far more than its own size"):
        imported(zipped, "p.zip")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    rows=st.integers(2, 300),
    columns=st.integers(1, 30),
    values=st.sampled_from(["zeros", "few", "many", "text", "long text", "missing"]),
    free=st.sampled_from([0, 1000, 10_000]),
)
def test_whatever_is_exported_is_imported(rows: int, columns: int, values: str, free: int) -> None:
    kinds = {
        "zeros": np.zeros(rows),
        "few": np.arange(rows) % 3,
        "many": np.random.default_rng(rows).normal(size=rows),
        "text": np.array(["a", "ü"])[np.arange(rows) % 2],
        "long text": np.array(["x" * 500])[np.zeros(rows, dtype=int)],
        "missing": np.where(np.arange(rows) % 2, np.nan, 1.0),
    }
    frame = pd.DataFrame({f"c{k}": kinds[values] for k in range(columns)}).assign(y=np.arange(rows) % 2)
    dataset = Dataset("any", frame, "y")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unpacking, "FREE_BYTES", free)
        back = imported(exported(state(dataset)), "p.zip")
    assert back.dataset is not None and back.dataset.same(dataset)


def test_what_no_file_can_hold_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    known = trained()
    runs = tuple(KeptRun(f"{k}" * 32, replace(known.run, name=f"Run {k}"), known.dataset) for k in range(3))
    with monkeypatch.context() as patched:
        patched.setattr(project_file, "MOST_RUNS", 2)
        with pytest.raises(DataError, match=r"has 3 runs, and a file at most 2\. Or leave out the data, or some runs"):
            exported(state(small_dataset(), runs=runs))
    monkeypatch.setattr(unpacking, "MAX_CELLS", 100)
    with pytest.raises(DataError, match=r"at most 100 can be read.*Or leave out the data, or some runs\.$"):
        exported(state(small_dataset(), SPNS[1]))
    assert imported(exported(state(small_dataset(), SPNS[1]), with_data=False), "p.zip").spn == SPNS[1]
