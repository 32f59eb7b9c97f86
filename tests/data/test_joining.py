"""Several tables over the same samples, and labels in a table of their own."""

import io
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import Dataset, Joining, Table, attach_labels, join_files, join_views, read_file
from spnmkl.errors import DataError
from spnmkl.training.bring import chosen_dataset, guessed_dataset


def table(name: str, **columns: list[object]) -> Table:
    return Table(name, pd.DataFrame(columns))


def omics() -> list[Table]:
    """Three tables of five to six samples, of which S2, S3 and S4 stand in all, in different orders."""
    texts = {
        "mrna.csv": "sample,TP53,BRCA1\nS1,1,2\nS2,3,4\nS3,5,6\nS4,7,8\nS5,9,10\n",
        "mirna.tsv": "sample\tmir21\tTP53\nS4\t0.4\t40\nS3\t0.3\t30\nS2\t0.2\t20\nS6\t0.6\t60\nS2\t9\t9\n",
        "protein.csv": "sample;HER2\nS2;0,2\nS3;0,3\nS4;0,4\nS1;0,1\nS7;0,7\n;0,8\n",
    }
    return [read_file(name, text.encode()) for name, text in texts.items()]


def by_hand() -> pd.DataFrame:
    """What the three tables are as one: nobody is lost, and a table that lacks somebody says nothing of them."""
    text = """sample,mrna__TP53,BRCA1,mir21,mirna__TP53,HER2
S1,1,2,,,0.1
S2,3,4,0.2,20,0.2
S3,5,6,0.3,30,0.3
S4,7,8,0.4,40,0.4
S5,9,10,,,
S6,,,0.6,60,
S7,,,,,0.7
"""
    return pd.read_csv(io.StringIO(text))


def test_three_tables_joined_by_id_keep_who_is_not_in_all_of_them() -> None:
    joined = join_views(omics())
    pd.testing.assert_frame_equal(joined.frame, by_hand(), check_dtype=False)
    assert joined.views == {"mrna": ("mrna__TP53", "BRCA1"), "mirna": ("mir21", "mirna__TP53"), "protein": ("HER2",)}
    assert joined.missing == {"mrna": ("S6", "S7"), "mirna": ("S1", "S5", "S7"), "protein": ("S5", "S6")}
    assert joined.report.to_dict("list") == {
        "table": ["mrna.csv", "mirna.tsv", "protein.csv"],
        "rows": [5, 5, 6],
        "taken": [5, 4, 5],
        "lacking": [2, 3, 2],
        "repeated": [0, 1, 0],
        "without id": [0, 0, 1],
    }
    assert joined.notes == (
        "3 of 7 ids stand in all tables. Every id has a row, in the order of 'mrna.csv', then of the tables after it.",
        "2 of 7 are not in 'mrna.csv': 'S6', 'S7'.",
        "3 of 7 are not in 'mirna.tsv': 'S1', 'S5', 'S7'.",
        "2 of 7 are not in 'protein.csv': 'S5', 'S6'.",
        "1 row of 'mirna.tsv' with an id that stands above already: left out.",
        "1 row of 'protein.csv' without an id: left out.",
    )


def test_joined_as_pandas_joins_them() -> None:
    rng = np.random.default_rng(0)
    everyone = [f"P{k}" for k in range(40)]
    tables = []
    for k, kind in enumerate(("normal", "integers", "choice")):
        who = rng.permutation(everyone)[: 30 + k]
        values = {"normal": rng.normal(size=len(who)), "integers": rng.integers(9, size=len(who))}
        values["choice"] = rng.choice(["a", "b"], len(who))
        tables.append(table(f"t{k}.csv", who=list(who), **{f"x{k}": values[kind]}))
    expected = tables[0].frame
    for other in tables[1:]:
        expected = expected.merge(other.frame, on="who", how="outer")
    found = join_views(tables).frame
    pd.testing.assert_frame_equal(
        found.sort_values("who", ignore_index=True), expected.sort_values("who", ignore_index=True)
    )
    first = list(tables[0].frame["who"])
    assert list(found["who"])[: len(first)] == first


def test_a_column_of_all_tables_is_one_where_they_agree() -> None:
    """As a label or an age that every file repeats; each knows it of other people."""
    a = table("a.csv", id=["p", "q"], age=[30, 40], sex=["f", "m"], x=[1, 2], grade=[1, 2])
    b = table("b.csv", id=["q", "r"], age=[40, 50], sex=["m", "f"], x=[3, 4], grade=[2, 3])
    c = table("c.csv", id=["r", "p"], age=[50, 30], sex=["f", "f"], x=[5, 6], grade=[9, 1])
    joined = join_views([a, b, c])
    assert joined.frame[["id", "age", "sex"]].to_dict("list") == {
        "id": ["p", "q", "r"],
        "age": [30, 40, 50],
        "sex": ["f", "m", "f"],
    }
    # b and c disagree about r, whom a does not know.
    assert joined.views == {view: (f"{view}__x", f"{view}__grade") for view in "abc"}


def test_ids_of_a_file_that_lacks_people_are_no_features() -> None:
    """Whole numbers beside people who are not there are fractions to pandas."""
    people = [f"p{k}" for k in range(8)]
    a = table("a.csv", id=people, x=[0.5, 1, 2, 3, 4, 5, 6, 7], group=[1, 2] * 4)
    b = table("b.csv", id=people[:5], scan_id=[17, 21, 35, 44, 52], z=[1, 2, 3, 4, 5])
    joined = join_views([a, b])
    assert Dataset.guess("both", joined.frame, views=joined.views).ignored == ("id", "scan_id")


def test_the_label_of_another_file_is_no_feature() -> None:
    """Two of three files repeat it, one with a gap; what is only called alike stays."""
    people = [f"p{k}" for k in range(8)]
    a = table("a.csv", id=people, x=[0.5, 1, 2, 3, 4, 5, 6, 7], label=["u", "v"] * 4, age=[1, 2, 3, 4, 5, 6, 7, 9])
    b = table("b.csv", id=people[:6], z=[1, 2, 3, 4, 5, 7], label=["u", None, "u", "v", "u", "v"])
    c = table("c.csv", id=people, w=[2, 3, 4, 5, 6, 7, 8, 1], age=[9, 8, 7, 6, 5, 4, 3, 2])
    joined = join_views([a, b, c])
    for label, other in (("a__label", "b__label"), ("b__label", "a__label")):
        chosen = chosen_dataset("three", joined, label)
        assert chosen.ignored == ("id", other) and {"a__age", "c__age"} <= set(chosen.features)
        assert other in chosen_dataset("three", joined, label, kept=[other]).features
    guessed = guessed_dataset("three", joined)
    assert {guessed.label, *guessed.ignored} == {"id", "a__label", "b__label"}


def test_ids_that_differ_in_case_or_zeros_are_told_and_stay_apart() -> None:
    first = read_file("a.csv", b"id,x\nP1,1\n007,2\nQ,3\nq,4\nsame,5\n")
    other = read_file("b.csv", b"id,z\np1,1\n7 ,2\nQ,3\nq,4\nsame,5\n")
    joined = join_views([first, other])
    assert len(joined.frame) == 7, "none of them are taken for one"
    assert joined.notes[-1] == (
        "2 ids differ between tables in case or leading zeros alone, such as 'P1' in 'a.csv' and 'p1' in 'b.csv': they "
        "count as different; where they are the same, write them alike in all files."
    )
    labels = read_file("y.csv", b"id,y\np1,u\n007,v\nQ,u\n")
    attached = attach_labels(first.frame, labels)
    assert attached.notes[-1].startswith("1 id differs between tables in case or leading zeros alone, such as 'P1'")
    with pytest.raises(DataError, match=r"No id of 'a.csv' .*'P1' in 'a.csv' and 'p1' in 'b.csv'"):
        join_views([read_file("a.csv", b"id,x\nP1,1\nP2,2\n"), read_file("b.csv", b"id,z\np1,1\np2,2\n")])


def test_labels_from_a_file_of_their_own() -> None:
    joined = join_views(omics())
    labels = read_file("labels.csv", b"sample,subtype\nS4,basal\nS2,luminal\nS9,basal\n")
    attached = attach_labels(joined.frame, labels)
    assert attached.frame["subtype"].fillna("").tolist() == ["", "luminal", "", "basal", "", "", ""]
    assert attached.notes == (
        "1 row of 'labels.csv' not in the table: left out.",
        "5 rows of the table not in 'labels.csv': 'S1', 'S3', 'S5', 'S6', 'S7'.",
    )
    dataset = Dataset.guess("omics", attached.frame).with_views(joined.views)
    assert (dataset.label, dataset.ignored, dataset.n_unlabelled) == ("subtype", ("sample",), 5)
    assert dataset.labelled().y.tolist() == ["luminal", "basal"]


def test_labels_row_by_row() -> None:
    frame = pd.DataFrame({"x": [0.5, 1.5], "y": [3, 4]})
    attached = attach_labels(frame, table("labels.csv", y=["u", "v"]))
    assert attached.frame.to_dict("list") == {"x": [0.5, 1.5], "y": [3, 4], "labels__y": ["u", "v"]}
    matrices = pd.DataFrame(index=pd.RangeIndex(2))
    assert attach_labels(matrices, table("l.csv", id=["a", "b"], y=["u", "v"])).frame["y"].tolist() == ["u", "v"]


def test_tables_joined_by_row_order() -> None:
    a, b = table("a.csv", id=[1, 2], x=[1, 2], y=["u", "v"]), table("b.csv", id=[1, 2], x=[3, 4], y=["u", "v"])
    joined = join_views([a, b], "rows")
    assert list(joined.frame) == ["id", "y", "a__x", "b__x"]
    assert joined.views == {"a": ("a__x",), "b": ("b__x",)} and not joined.notes
    files = []
    for scale in (1, 2):
        file = io.BytesIO()
        np.savez(file, K=scale * np.eye(2))
        files.append(read_file(f"k{scale}.npz", file.getvalue()))
    assert list(join_views([*files, a], "rows").matrices) == ["k1__K", "k2__K"]


def test_ids_are_compared_as_text_and_may_have_other_names() -> None:
    a, b = table("a.csv", Patient=["7", "8 ", "x"], u=[1, 2, 3]), table("b.csv", Code=[8.0, 7.0], v=[4, 5])
    joined = join_views([a, b])
    assert joined.frame.to_dict("list") == {"Patient": ["7", "8", "x"], "u": [1, 2, 3], "v": [5, 4, ANY]}
    assert joined.frame["v"].isna().tolist() == [False, False, True]


def test_views_and_columns_of_the_same_name_stay_apart() -> None:
    files = [table(f"{folder}/t.csv", id=["a", "b"], x=[1, k], t__x=[3, k]) for k, folder in enumerate("uv")]
    joined = join_views(files)
    assert joined.frame.columns.is_unique and joined.frame.shape == (2, 5)
    assert set(joined.views) == {"t", "t (2)"} and all(len(columns) == 2 for columns in joined.views.values())


def test_the_files_of_a_person() -> None:
    views, labels = omics(), table("labels.csv", sample=["S4", "S2"], y=["u", "v"])
    alone = join_files(views[:1], Joining())
    assert alone.frame is views[0].frame and not alone.views
    both = join_files([labels, *views], Joining(labels=0))
    pd.testing.assert_frame_equal(both.frame.drop(columns="y"), join_views(views).frame)
    assert both.frame.set_index("sample")["y"].dropna().to_dict() == {"S2": "v", "S4": "u"}
    assert join_files([views[0], labels], Joining(labels=1)).views == {"mrna": ("sample", "TP53", "BRCA1")}
    numbered = [table("a.csv", k=[2, 1, 3], c=[7, 8, 9], x=[1, 2, 3]), table("b.csv", k=[1, 2, 3], c=[9, 8, 7])]
    joined = join_files(numbered, Joining(id_column="c"))
    assert joined.notes == (
        "2 columns with a name that stands in several files: called after the file too, such as 'a__k'; give files of "
        "new rows the same names.",
    )
    by_c = joined.frame
    assert by_c.to_dict("list") == {"c": ["7", "8", "9"], "a__k": [2, 1, 3], "x": [1, 2, 3], "b__k": [3, 2, 1]}


REFUSED = [
    (lambda: join_views([]), "There is no table to join; choose at least one file."),
    (
        lambda: join_views([table("a.csv", x=[1, 2]), table("b.csv", z=[1, 2, 3])], "rows"),
        "Row by row, tables need the same number of rows, but 'a.csv' has 2 and 'b.csv' 3; join them by an id column.",
    ),
    (
        lambda: join_views([table("a.csv", id=["a"], x=[1]), table("b.csv", id=["b"], z=[1])]),
        "No id of 'a.csv' stands in another table; ids are such as 'a' in 'a.csv', 'b' in 'b.csv': choose another id "
        "column, or row order.",
    ),
    (
        lambda: join_views([table("a.csv", x=[0.5, 1.5]), table("b.csv", z=[1, 2])]),
        "No column of ids is shared by 'a.csv', 'b.csv'; give each the same id column, or join by row order.",
    ),
    (
        lambda: join_views([table("a.csv", id=["a"]), table("b.csv", z=[1])], id_column="id"),
        "There is no column 'id'; the columns are 'z'.",
    ),
    (
        lambda: join_views([Table("k.npz", pd.DataFrame({"id": [1, 2]}), matrices={"K": np.eye(2)})]),
        "The matrices in 'k.npz' have no ids; join by row order.",
    ),
    (
        lambda: attach_labels(pd.DataFrame({"x": [1, 2, 3]}), table("l.csv", y=["u", "v"])),
        "Row by row, tables need the same number of rows, but 'the table' has 3 and 'l.csv' 2; join them by an id "
        "column.",
    ),
]


@pytest.mark.parametrize(("attempt", "sentence"), REFUSED)
def test_refused_with_a_sentence(attempt: object, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        attempt()  # type: ignore[operator]
    assert str(refused.value) == sentence
