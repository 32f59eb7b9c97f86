"""What files become: labels alone are no view, and the role of ids is said."""

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import Joined, Joining, Table, join_files
from spnmkl.training.bring import chosen_dataset, guessed_dataset, labels_alone, roles_of_others

IDS = [f"S{k}" for k in range(12)]
RNG = np.random.default_rng(0)


def view(name: str, columns: int) -> Table:
    frame = pd.DataFrame(RNG.normal(size=(12, columns)), columns=[f"{name}{k}" for k in range(columns)])
    return Table(f"{name}.csv", frame.assign(id=IDS)[["id", *frame.columns]])


def labels(name: str, values: list[object]) -> Table:
    return Table(f"{name}.csv", pd.DataFrame({"id": IDS, name: values}))


def joined(*tables: Table) -> Joined:
    return join_files(tables, Joining())


@pytest.mark.parametrize("name", ["subtype", "ER_status"])
def test_a_file_of_labels_alone_is_the_label_and_no_view(name: str) -> None:
    found = joined(view("genes", 5), labels(name, ["pos", "neg"] * 6), view("scan", 3))
    for dataset in (guessed_dataset("t", found), chosen_dataset("t", found, name, ignored=["id"])):
        assert dataset.label == name
        assert list(dataset.views) == ["genes", "scan"]


def test_one_measurement_is_a_view() -> None:
    found = joined(view("genes", 5), labels("dose", [0.1 * k for k in range(12)]))
    assert labels_alone(found) is None
    assert list(guessed_dataset("t", found).views) == ["genes", "dose"]


def test_of_two_files_of_labels_none_is_taken_for_it_without_a_name() -> None:
    found = joined(view("genes", 5), labels("wing", ["a", "b"] * 6), labels("ward", ["u", "v", "w"] * 4))
    assert labels_alone(found) is None


def test_the_role_of_ids_is_said() -> None:
    dataset = guessed_dataset("t", joined(view("genes", 5), view("scan", 3)))
    assert roles_of_others(dataset, joined=True) == ["'id' joins the files and is no feature."]
    assert roles_of_others(dataset, joined=False) == ["'id' tells the rows apart and is no feature."]
    more = dataset.with_ignored([*dataset.ignored, "genes0"])
    assert roles_of_others(more, joined=True)[1:] == ["Left out: 'genes0'."]
    assert roles_of_others(dataset.with_ignored([]), joined=True) == []
