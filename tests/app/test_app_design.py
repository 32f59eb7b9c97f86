"""The Design page without a browser: canvas messages, panel, checks, paths, templates, tables, import, export."""

import json
from pathlib import Path

import pandas as pd
import pytest
from app_pages import bring, dialog, fine, labelled, opened, send, show, spn, texts, undo, use_template, work
from streamlit.testing.v1 import AppTest

from spnmkl.cli.commands import main
from spnmkl.data import SAMPLES, Choices, Dataset, load_sample
from spnmkl.inspection import heaviest_paths
from spnmkl.kernels import validate_kernels
from spnmkl.structure import SPN, Kernel, Product, Sum, templates
from spnmkl.structure.layout import unplaced
from spnmkl.structure.templates import TEMPLATES
from spnmkl.structure.text import node_text
from spnmkl.ui.pages.design.page import facts
from spnmkl.ui.parts.canvas import KEY
from spnmkl.ui.parts.cards import template_picture
from spnmkl.ui.state.opening import opening_structure

HOSTILE = """<script>alert("x")</script> 'quoted' 🧬 `code` $x^2$ [a](b) """


@pytest.fixture
def at() -> AppTest:
    return opened()


def one_of_each(at: AppTest) -> AppTest:
    structure = SPN(Sum(Product(Kernel("rbf", gamma=0.5)), Product(Kernel("linear"))))
    return bring(at, load_sample("wine"), structure)


@pytest.mark.chooses
def test_the_page_opens_on_a_valid_drawing_over_the_sample(at: AppTest) -> None:
    assert work(at).dataset.name == "breast_cancer"
    assert not spn(at).validate()
    assert facts(spn(at), []).startswith(f"{spn(at).n_paths} paths · ")
    assert "valid and fits the data" in texts(show(at, "Checks"))
    assert show(at, "Formula").latex[0].value


def all_kinds(views: int) -> Dataset:
    """Views of numbers and text, and columns in none."""
    numbers = {f"v{k}__{c}": range(6) for k in range(views) for c in "ab"}
    table = pd.DataFrame({**numbers, "v0__word": list("uvuvuw"), "age": range(6), "sex": list("fmfmff")})
    return Dataset("t", table.assign(y=[0, 1] * 3), "y").views_by_prefix()


@pytest.mark.parametrize("views", [0, 1, 2, 5, 12])
def test_every_column_takes_part_in_the_drawing_that_data_open_on(at: AppTest, views: int) -> None:
    dataset = all_kinds(views)
    drawing = opening_structure(dataset)
    drawing.check()
    used: dict[str, set[str]] = {"numbers": set(), "text": set()}
    for spec in map(drawing.spec, drawing.kernels):
        used["text" if spec.kernel == "hamming" else "numbers"].update(map(str, spec.features or ()))
    assert used == {"numbers": set(dataset.numeric), "text": set(dataset.categorical)}
    assert len(drawing.kernels) <= 4 * (views + 1) + 6, "three for a part's numbers, one for its text, a few over all"
    bring(at, dataset, drawing)
    assert "no part" not in texts(fine(show(at, "Checks")))


def test_columns_that_take_no_part_are_named(at: AppTest) -> None:
    bring(at, all_kinds(2), SPN(Sum(Product(Kernel("rbf", features=["v0__a", 1])), Product(Kernel("precomputed")))))
    show(at, "Checks")
    (note,) = at.info
    assert note.value.replace("\\", "").startswith(
        "5 columns take no part: 'v1__a', 'v1__b', 'v0__word', 'age', 'sex'."
    )
    work(at).drawing.push(SPN(Product(Kernel("rbf"))))
    assert not at.run().info


def test_an_edit_on_the_canvas_reaches_the_page(at: AppTest) -> None:
    show(at, "Checks")
    send(at, nodes=[{"id": "k1", "kind": "kernel", "x": 0, "y": 0}], edges=[])
    assert spn(at).nodes == ("k1",)
    assert any("root" in error.value for error in at.error), "a lone kernel is no structure"
    labelled(at.button, "Repair it").click().run()
    assert fine(at)
    assert not [issue for issue in spn(at).validate() if issue.severity == "error"]


def test_an_empty_canvas_says_what_to_do(at: AppTest) -> None:
    send(at, nodes=[], edges=[])
    assert not at.exception
    assert spn(at).nodes == ()
    assert "empty" in texts(show(at, "Checks"))
    use_template(at, "flat")
    fine(at)


def test_what_cannot_be_a_drawing_leaves_the_page_standing(at: AppTest) -> None:
    before = spn(at)
    send(at, nodes=[{"id": "k1", "kind": ["kernel"], "x": 0, "y": 10**400}])
    assert fine(at)
    assert spn(at) == before
    send(at, nodes=[{"id": "k1", "kind": "kernel", "x": 0, "y": 0}], edges=[])
    assert spn(at).nodes == ("k1",)


@pytest.mark.parametrize("selection", [[["k1"]], "k1", [None, 3], ["no such node"], {"k1": 1}])
def test_a_strange_selection_selects_nothing(at: AppTest, selection: list[str]) -> None:
    fine(send(at, select=selection))
    assert "Select a node" in texts(at)


def test_an_edit_tells_what_is_chosen_until_something_is_chosen_after_it(at: AppTest) -> None:
    first, second, *_ = spn(at).kernels
    send(at, select=[first], selection=[second])
    sequence = at.session_state[KEY]["drawing"]["sequence"]
    for select, chosen in (([first], second), ({"ids": [first], "after": sequence - 1}, second)):
        assert f"**Kernel** {node_text(spn(at), chosen)}" in texts(send(at, select=select)).replace("\\", "")
    for ids, after in (([first], sequence), ([first], sequence + 1)):
        at = send(at, select={"ids": ids, "after": after})
        assert f"**Kernel** {node_text(spn(at), first)}" in texts(at).replace("\\", "")
    assert "Select a node" in texts(send(at, select={"ids": [], "after": sequence}))


def test_every_repair_of_every_mistake(at: AppTest) -> None:
    show(at, "Checks")
    mistakes = [
        {"nodes": [("s1", "sum"), ("k1", "kernel"), ("k2", "kernel")], "edges": [["s1", "k1"], ["s1", "k2"]]},
        {"nodes": [("p1", "product"), ("k1", "kernel"), ("k2", "kernel")], "edges": [["p1", "k1"]]},
        {"nodes": [("k1", "kernel")], "edges": []},
    ]
    for mistake in mistakes:
        nodes = [{"id": id, "kind": kind, "x": 9 * k, "y": 9 * k} for k, (id, kind) in enumerate(mistake["nodes"])]
        send(at, nodes=nodes, edges=mistake["edges"])
        assert at.error
        next(button for button in at.button if button.label.startswith("Repair")).click().run()
        assert not fine(at).exception


def test_the_label_of_any_node(at: AppTest) -> None:
    one_of_each(at)
    for v in ("s1", "p1", "k1"):
        send(at, select=[v])
        labelled(at.text_input, "Label").set_value(HOSTILE.strip()).run()
        fine(at)
        assert spn(at).label(v) == HOSTILE.strip()
    before = spn(at)
    labelled(at.text_input, "Label").set_value("").run()
    assert spn(at).label("k1") == "k1"
    undo(at, before)
    assert spn(at).label("k1") == HOSTILE.strip(), "no widget brings back what was undone"


def test_p_of_a_product(at: AppTest) -> None:
    one_of_each(at)
    send(at, select=["p1"])
    labelled(at.number_input, "p").set_value(2.5).run()
    fine(at)
    assert (spn(at).p("p1"), spn(at).p("p2")) == (2.5, 1.0)
    undo(at, spn(at).replace("p1", p=1.0))
    assert spn(at).p("p1") == 1.0
    send(at, select=["p2"])
    assert labelled(at.number_input, "p").value == 1.0


def test_kernel_and_its_parameters(at: AppTest) -> None:
    one_of_each(at)
    send(at, select=["k1"])
    labelled(at.number_input, "value").set_value(0.125).run()
    assert dict(spn(at).spec("k1").params) == {"gamma": 0.125}
    labelled(at.selectbox, "Kernel").set_value("polynomial").run()
    assert fine(at)
    assert spn(at).spec("k1").kernel == "polynomial"
    labelled(at.number_input, "degree").set_value(4).run()
    assert dict(spn(at).spec("k1").params)["degree"] == 4
    labelled(at.selectbox, "Normalisation").set_value("none").run()
    assert spn(at).spec("k1").normalize == "none"
    send(at, select=["k2"])
    assert labelled(at.selectbox, "Kernel").value == "linear"


def test_every_kernel_gets_a_form(at: AppTest) -> None:
    one_of_each(at)
    send(at, select=["k1"])
    for name in labelled(at.selectbox, "Kernel").options:
        labelled(at.selectbox, "Kernel").set_value(name).run()
        assert not at.exception
        assert spn(at).spec("k1").kernel == name


def test_features_of_a_kernel(at: AppTest) -> None:
    one_of_each(at)
    send(at, select=["k1"])
    labelled(at.selectbox, "Columns").set_value("view colour").run()
    assert fine(at)
    assert spn(at).spec("k1").features == work(at).dataset.views["colour"]
    labelled(at.selectbox, "Columns").set_value("chosen columns").run()
    labelled(at.text_input, "Find columns").set_value("phenol").run()
    labelled(at.multiselect, "Chosen columns").set_value(["hue", "total_phenols"]).run()
    assert fine(at)
    assert spn(at).spec("k1").features == ("hue", "total_phenols")
    labelled(at.selectbox, "Columns").set_value("all columns").run()
    assert spn(at).spec("k1").features is None


@pytest.mark.parametrize(
    "leaf",
    [
        Kernel("rbf", features=[0, 1]),
        Kernel("rbf", gamma="foo"),
        Kernel("rbf", gamma=-1.0),
        Kernel("polynomial", degree=2.5),
        Kernel("polynomial", degree=0),
        Kernel("rbf", wonder=3.0),
    ],
    ids=lambda leaf: str(leaf.spec.params or leaf.spec.features),
)
def test_looking_at_a_kernel_changes_nothing(at: AppTest, leaf: Kernel) -> None:
    bring(at, load_sample("wine"), SPN(Sum(Product(leaf), Product(Kernel("linear"), p=150.0))))
    before = spn(at)
    for v in ("k1", "p2"):
        send(at, select=[v])
        assert "went wrong" not in texts(at)
        assert spn(at) == before


def test_columns_by_position_are_shown_by_name(at: AppTest) -> None:
    bring(at, load_sample("wine"), SPN(Product(Kernel("rbf", features=[0, 1]))))
    send(at, select=["k1"])
    first, second, third = work(at).dataset.features[:3]
    assert labelled(at.multiselect, "Chosen columns").value == [first, second]
    labelled(at.multiselect, "Chosen columns").set_value([first, third]).run()
    assert spn(at).spec("k1").features == (first, third)


def test_columns_that_the_data_do_not_have_are_named(at: AppTest) -> None:
    bring(at, load_sample("wine"), SPN(Product(Kernel("rbf", features=["<b>gone</b>"]))))
    assert not at.exception
    assert any("gone" in error.value for error in show(at, "Checks").error)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_template_validates_on_every_sample(at: AppTest, name: str) -> None:
    bring(at, load_sample(name))
    for template in TEMPLATES.values():
        use_template(at, template.name)
        fine(at)
        filled = spn(at)
        columns = work(at).dataset.features
        assert not [issue for issue in filled.validate() if issue.severity == "error"]
        assert not [issue for issue in validate_kernels(filled, columns, len(columns)) if issue.severity == "error"]
        assert all(filled.position(v) for v in filled.nodes)


def test_a_template_is_embedded_in_the_selected_kernel(at: AppTest) -> None:
    one_of_each(at)
    assert dialog(at, "Templates").button(key="embed_polynomial").disabled
    send(at, select=["p1"])
    assert at.button(key="embed_polynomial").disabled
    send(at, select=["k1"])
    before = spn(at)
    at.button(key="embed_polynomial").click().run()
    fine(at)
    assert "k1" not in spn(at).children("p1")
    assert spn(at).n_paths > before.n_paths
    undo(at, before)
    assert spn(at) == before


def test_choosing_a_path(at: AppTest) -> None:
    bring(at, load_sample("wine"), templates.figure1())
    show(at, "Paths")
    (table,) = [frame for frame in at.dataframe if frame.key and frame.key.startswith("paths_")]
    assert len(table.value) == 8
    at.session_state[table.key] = {"selection": {"rows": [7], "columns": [], "cells": []}}
    at.run()
    fine(at)
    chosen = list(spn(at).paths())[7]
    assert work(at).path == chosen
    assert any(r"\beta_{9}^{1/2}" in latex.value for latex in at.latex), [latex.value for latex in at.latex]
    at.toggle[0].set_value(True).run()
    fine(at)
    send(at, nodes=[{"id": "k1", "kind": "kernel", "x": 0, "y": 0}], edges=[])
    assert work(at).path is None, "an edit forgets a path that may be gone"


def test_the_heaviest_paths_once_there_is_a_training(at: AppTest) -> None:
    show(at, "Paths")
    assert not [toggle for toggle in at.toggle if toggle.label.startswith("Heaviest")]
    trainer = work(at).trainer
    assert trainer.start("train", work(at).task, trainer.settings, lambda: True).job.join(60)
    trainer.collect()
    assert trainer.book.run is not None
    labelled(at.run().toggle, "Heaviest first, by Run 1").set_value(True).run()
    fine(at)
    (table,) = [frame for frame in at.dataframe if frame.key and frame.key.startswith("paths_")]
    heaviest = heaviest_paths(trainer.book.run.solution, 100)
    assert table.value["weight g"].tolist() == [path.g for path in heaviest]
    at.session_state[table.key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    fine(at.run())
    assert work(at).path == heaviest[0].path
    assert heaviest[0].path in list(spn(at).paths())


def edits(at: AppTest, which: str, **changes: object) -> None:
    (editor,) = [frame for frame in at.data_editor if frame.key.startswith(which)]
    at.session_state[editor.key] = {"edited_rows": {}, "added_rows": [], "deleted_rows": [], **changes}


def test_the_tables_draw_figure_1(at: AppTest) -> None:
    figure = templates.figure1()
    send(at, nodes=[], edges=[])
    dialog(at, "Table")
    kept = ("id", "kind", "p", "kernel")
    nodes = [{key: node[key] for key in kept if key in node} for node in figure.to_dict()["nodes"]]
    edits(at, "nodes_", added_rows=nodes)
    edits(at, "edges_", added_rows=[{"parent": a, "child": b} for a, b in figure.to_dict()["edges"]])
    labelled(at.button, "Apply the tables").click().run()
    fine(at)
    assert [path.layers for path in spn(at).paths()] == [path.layers for path in figure.paths()]
    assert all(spn(at).position(v) for v in spn(at).nodes)


def test_tables_that_make_no_structure_change_nothing(at: AppTest) -> None:
    before = spn(at)
    dialog(at, "Table")
    edits(at, "edges_", added_rows=[{"parent": "s1", "child": "<script>nowhere</script>"}])
    labelled(at.button, "Apply the tables").click().run()
    assert not at.exception
    assert any("nowhere" in error.value for error in at.error)
    assert spn(at) == before


BAD_FILES = {
    "empty": b"",
    "no JSON": b"{",
    "not UTF-8": b"\xff\xfe{}",
    "another format": b'{"nodes": [], "edges": []}',
    "a later version": b'{"format": "spnmkl/structure", "version": 99, "nodes": [], "edges": []}',
    "an unknown key": b'{"format": "spnmkl/structure", "version": 1, "nodes": [], "edges": [], "x": 1}',
    "an edge to nowhere": json.dumps(
        {"format": "spnmkl/structure", "version": 1, "nodes": [], "edges": [["<script>alert(1)</script>", "b"]]}
    ).encode(),
    "nested deeply": b"[" * 100_000,
    "too large": b" " * 5_000_001,
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_structure_file_leaves_the_drawing_alone(at: AppTest, content: bytes) -> None:
    before = spn(at)
    dialog(at, "Open, save")
    at.file_uploader(key="structure_file").set_value(("<script>.json", content, "application/json")).run()
    assert not at.exception
    assert len(at.error) == 1
    assert "went wrong" not in at.error[0].value
    assert "<script>" not in at.error[0].value.replace("\\<script\\>", "")
    assert spn(at) == before


def test_import_takes_a_file_once(at: AppTest) -> None:
    given = templates.figure1()
    dialog(at, "Open, save")
    at.file_uploader(key="structure_file").set_value(("figure.json", given.to_json().encode(), "text/json")).run()
    fine(at)
    assert [path.layers for path in spn(at).paths()] == [path.layers for path in given.paths()]
    assert spn(at).nodes == given.nodes
    send(at, nodes=[{"id": "p1", "kind": "product", "x": 0, "y": 0}], edges=[])
    assert spn(at).nodes == ("p1",), "the file is not opened again"


@pytest.mark.parametrize("label", ["Structure (JSON)", "Web page (offline)", "Picture (SVG)", "Picture (PNG)"])
def test_everything_can_be_taken_along(at: AppTest, label: str) -> None:
    assert labelled(dialog(at, "Open, save").download_button, label)


def test_copied_python_runs_as_it_is(at: AppTest) -> None:
    names: dict[str, object] = {}
    dialog(at, "Open, save")
    exec(at.code[0].value, names)
    built = [value for value in names.values() if isinstance(value, SPN)]
    assert [path.layers for path in built[0].paths()] == [path.layers for path in spn(at).paths()]


def test_hostile_labels_are_shown_as_text(at: AppTest) -> None:
    label = HOSTILE + "x" * 10_000
    structure = SPN(Sum(Product(Kernel("rbf", label=label), label=label), Product(Kernel("linear"))))
    fine(bring(at, load_sample("wine"), structure))
    send(at, select=["k1"])
    fine(at)
    assert spn(at).label("k1") == label
    assert "<script>" not in texts(at).replace("\\<script\\>", "")


def test_a_drawing_without_products_or_with_many_paths(at: AppTest) -> None:
    deep = SPN(Product(*(Sum(*(Product(Kernel("rbf", gamma=float(j + 1))) for j in range(4))) for _ in range(12))))
    fine(bring(at, load_sample("wine"), deep))
    show(at, "Paths")
    at.toggle[0].set_value(True).run()
    fine(at)
    assert "first 100" in texts(at)


def test_the_error_of_a_page_is_an_apology(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("spnmkl.ui.pages.design.page.show_formula", broken)
    show(at, "Formula")
    assert not at.exception
    assert [error.value for error in at.error] == [
        "Something went wrong here. Your drawing and your data are kept; try again, or reload the page."
    ]


def test_what_can_be_pruned_is_said_in_full_for_weights_alike(at: AppTest) -> None:
    joint = Product(Kernel("linear"), Kernel("cosine"), label="<i>", p=2)
    bring(at, load_sample("wine"), SPN(Sum(Product(Kernel("rbf")), Product(Kernel("laplacian")), joint)))
    said = texts(show(at, "Checks"))
    assert "\\<i\\>" in said and "<i>" not in said
    said = said.replace("\\", "")
    assert "- Each of **β₁, β₂** can be pruned alone: its exponent is at least p = 1 on every path." in said
    assert "- **β[<i>]** cannot be pruned: p = 2 is above its share of the exponents on some path." in said


def test_a_kernel_for_numbers_over_text_is_told_of_before_training() -> None:
    at = opened()
    table = pd.DataFrame({"size": [1.5, 2, 3, 4], "colour": ["red", "blue"] * 2, "label": ["a", "a", "b", "b"]})
    bring(at, Dataset("t", table, "label"), SPN(Sum(Product(Kernel("rbf", label="all")))))
    assert any("needs numbers, but it sees the text column" in error.value for error in show(at, "Checks").error)
    work(at).choices = Choices(categorical="one-hot")
    assert not at.run().error


def three_kernels(at: AppTest) -> AppTest:
    leaves = Kernel("rbf", gamma=0.5), Kernel("rbf", gamma=2.0), Kernel("rbf", gamma=2.0, features=["hue"])
    return bring(at, load_sample("wine"), SPN(Sum(*(Product(leaf) for leaf in leaves))))


def test_several_kernels_are_changed_at_once(at: AppTest) -> None:
    three_kernels(at)
    send(at, select=["k1", "k2", "k3"])
    assert "3 kernels" in texts(at)
    assert labelled(at.number_input, "value").value is None, "they differ"
    labelled(at.number_input, "value").set_value(0.25).run()
    assert [dict(spn(at).spec(v).params)["gamma"] for v in ("k1", "k2", "k3")] == [0.25] * 3
    assert spn(at).spec("k3").features == ("hue",), "only what was changed is changed"
    labelled(at.selectbox, "Columns").set_value("view colour").run()
    assert {spn(at).spec(v).features for v in spn(at).kernels} == {work(at).dataset.views["colour"]}
    labelled(at.selectbox, "Kernel").set_value("polynomial").run()
    labelled(at.number_input, "degree").set_value(3).run()
    assert {(spn(at).spec(v).kernel, dict(spn(at).spec(v).params)["degree"]) for v in spn(at).kernels} == {
        ("polynomial", 3)
    }
    labelled(at.selectbox, "Normalisation").set_value("none").run()
    labelled(at.text_input, "Label prefix").set_value("<b>tint").run()
    fine(at)
    assert [spn(at).label(v) for v in spn(at).kernels] == ["<b>tint 1", "<b>tint 2", "<b>tint 3"]
    assert {spn(at).spec(v).normalize for v in spn(at).kernels} == {"none"}


def test_several_nodes_of_different_kinds(at: AppTest) -> None:
    three_kernels(at)
    before = spn(at)
    send(at, select=["s1", "p1", "p2", "k1"])
    assert "1 sum, 2 products, 1 kernel" in texts(fine(at)) and spn(at) == before
    labelled(at.number_input, "p").set_value(2.0).run()
    assert [fine(at) and spn(at).p(v) for v in ("p1", "p2", "p3")] == [2.0, 2.0, 1.0]


def test_a_structure_larger_than_the_canvas_is_refused(at: AppTest) -> None:
    before, large = spn(at), templates.flat([f"c{k}" for k in range(1000)])
    dialog(at, "Open, save")
    at.file_uploader(key="structure_file").set_value(("large.json", large.to_json().encode(), "text/json")).run()
    assert "at most 2,000 nodes, and this would make 2,001" in at.error[0].value and spn(at) == before


def test_a_template_is_the_same_in_the_app_in_the_library_and_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = load_sample("omics")
    at, file = bring(opened(), dataset), tmp_path / "omics.csv"
    dataset.frame.to_csv(file, index=False)
    for name in TEMPLATES:
        use_template(at, name)
        drawn = unplaced(spn(at))
        assert drawn == unplaced(dataset.template(name))
        assert main(["template", name, "--columns", str(file), "--label", str(dataset.label)]) == 0
        assert unplaced(SPN.from_json(capsys.readouterr().out)) == drawn, name


def test_templates_are_told_apart_by_their_pictures_and_one_is_empty(at: AppTest) -> None:
    assert len({template_picture(name, "light") for name in TEMPLATES}) == len(TEMPLATES)
    use_template(at, "empty")
    assert not spn(at).nodes
    fine(at.run())
