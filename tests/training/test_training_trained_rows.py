"""Rows that a model was trained on are told when they are predicted, by what it sees of them or by their ids."""

import base64
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spnmkl.cli.commands import main
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.model_file import save_model
from spnmkl.structure import Kernel, templates
from spnmkl.training.predict import Predictor
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.training.trained_rows import _unpacked, described_rows, seen_ids

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=list("abc")).assign(
    sample=[f"P{k:03d}" for k in RNG.permutation(60)],
    colour=np.resize(["red", "blue"], 60),
    y=np.where(X[:, 0] > 0, "u", "v"),
)
SEEN = "among those that the model was trained on"


def trained(frame: pd.DataFrame = FRAME, **choices: str) -> Run:
    dataset = Dataset("t", frame, "y", ("sample",))
    spn = templates.flat([Kernel("rbf", features=["a", "b", "c"]), Kernel("hamming", features=["colour"])])
    return train(prepare(spn, dataset, Choices(**choices), SplitSettings(0.3)), Settings())  # type: ignore[arg-type]


def said(run: Run, rows: pd.DataFrame) -> list[str]:
    predictor = Predictor.of_run(run)
    assert predictor is not None
    return [note for note in predictor.predict(predictor.match(rows)).notes if SEEN in note]


def test_training_rows_are_told_and_test_rows_are_not() -> None:
    run = trained()
    (all_of_them,) = said(run, FRAME.iloc[run.train])
    assert all_of_them.startswith(
        f"All rows stand {SEEN}, by the values of all columns that it uses and by 'sample': it has seen their labels"
    )
    assert said(run, FRAME.iloc[run.test]) == []
    (both,) = said(run, FRAME)
    assert both.startswith(f"{len(run.train)} of 60 rows stand {SEEN}")
    assert "by the values" in said(run, FRAME.iloc[run.train].drop(columns=["sample", "y"]))[0]


def test_a_row_measured_anew_is_told_by_its_id() -> None:
    run = trained()
    again = FRAME.iloc[run.train[:1]].assign(a=9.0)
    assert said(run, again)[0].startswith(f"1 of 1 row stands {SEEN}, by 'sample':")


def test_numbers_that_any_table_counts_its_rows_by_say_nothing() -> None:
    run = trained(FRAME.assign(sample=range(60)))
    new = pd.DataFrame(RNG.normal(size=(60, 3)), columns=list("abc")).assign(colour="red", sample=range(60))
    assert said(run, new) == []


def test_digests_are_salted_file_by_file_and_those_of_earlier_versions_are_read() -> None:
    ids = pd.Series([f"P{k}" for k in (5, 900, 31)])
    one, other = (described_rows(X[:3] + shift, ids) for shift in (0.0, 1e-3))
    assert not set(_unpacked(one, "ids")) & set(_unpacked(other, "ids")) and one["salt"] != other["salt"]
    assert one == described_rows(X[:3], ids), "the same rows, the same file"
    for stored in (one, other):
        assert seen_ids(stored, ids[::-1]).tolist() == [True] * 3  # type: ignore[union-attr]
        assert seen_ids(stored, ids + "x").tolist() == [False] * 3  # type: ignore[union-attr]
    before = {"ids": base64.b64encode(hashlib.blake2b(b"P900", digest_size=6).digest()).decode()}
    assert seen_ids(before, ids).tolist() == [False, True, False]  # type: ignore[union-attr]
    endless = one | {"rounds": 10**12}
    assert one["rounds"] == 2000 and seen_ids(endless, ids).all(), "no more rounds than were made"  # type: ignore[union-attr]


def test_a_model_file_and_the_command_line_tell_it_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = trained(categorical="one-hot")
    assert run.model is not None
    save_model(run.model, tmp_path / "m.spnmkl")
    FRAME.iloc[run.train].to_csv("old.csv", index=False)
    FRAME.iloc[run.test].to_csv("new.csv", index=False)
    assert main(["predict", "m.spnmkl", "old.csv"]) == 0
    assert SEEN in capsys.readouterr().err
    assert main(["predict", "m.spnmkl", "new.csv"]) == 0
    assert SEEN not in capsys.readouterr().err


@pytest.mark.parametrize("stored", [None, 3, {"values": 7}, {"values": "no base 64!"}, {"values": "AAAA", "ids": []}])
def test_a_file_that_tells_nothing_or_nonsense_is_no_obstacle(stored: object) -> None:
    run = trained()
    assert run.model is not None
    run.model.extra_["trained_on"] = stored
    assert said(run, FRAME) == []
