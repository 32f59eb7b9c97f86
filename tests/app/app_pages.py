"""The app without a browser: pages, the workspace behind them, and what the canvas would send."""

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from spnmkl.data import Dataset
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure.templates import RBF
from spnmkl.training.settings import Settings
from spnmkl.ui.parts.canvas import KEY
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.drawing import placed
from spnmkl.ui.state.workspace import Workspace

Downloads = dict[str, bytes]
APP = Path(__file__).parents[2] / "app.py"


def opened(page: str = "design") -> AppTest:
    at = AppTest.from_file(APP, default_timeout=30).run()
    return fine(at.switch_page(f"pages/{page}.py").run())


def fine(at: AppTest) -> AppTest:
    """No traceback and no sentence of failure on the page."""
    assert not at.exception, [error.value for error in at.exception]
    assert not [error.value for error in at.error]
    return at


def work(at: AppTest) -> Workspace:
    return at.session_state["spnmkl_workspace"]


def spn(at: AppTest) -> SPN:
    return work(at).drawing.spn


def bring(at: AppTest, dataset: Dataset, structure: SPN | None = None) -> AppTest:
    """Other data, and another drawing, as if they had been there before."""
    work(at).bring(dataset)
    if structure is not None:
        work(at).drawing.push(placed(structure))
    return at.run()


def with_a_product(dataset: Dataset) -> SPN:
    """Each view of numbers, and the product of the first and the last: something to keep, something to prune."""
    views = list(dataset.feature_views.items())
    sums = (
        Sum(Product(RBF.on(columns, view)), Product(Kernel("linear", features=columns, label=f"{view} linear")))
        for view, columns in (views[0], views[-1])
    )
    return SPN(Sum(*(Product(RBF.on(columns, view)) for view, columns in views), Product(*sums)))


def train(trainer: Trainer, at: AppTest, **settings: Any) -> None:
    trainer.start("train", work(at).task, Settings(**settings), lambda: True).job.join(60)
    trainer.collect()


def send(at: AppTest, *, select: list[str] | None = None, **changes: Any) -> AppTest:
    """What the canvas sends: the drawing as it stands with changes, and the selection."""
    drawing, state = work(at).drawing, dict(at.session_state[KEY])
    if changes:
        described = drawing.spn.to_dict()
        sequence = int(drawing.acknowledged.rpartition("/")[2]) + 1
        message = {"page": "tested", "sequence": sequence, "revision": drawing.revision, "closed": []}
        nodes = [
            {"kernel": "rbf", **n} if n["kind"] == "kernel" else n for n in changes.pop("nodes", described["nodes"])
        ]
        state["drawing"] = {**message, "nodes": nodes, "edges": described["edges"], **changes}
    if select is not None:
        state["selection"] = select
    at.session_state[KEY] = state
    return at.run()


def undo(at: AppTest, before: SPN) -> AppTest:
    """What the canvas sends when a person goes back to an earlier drawing."""
    described = placed(before).to_dict()
    return send(at, nodes=described["nodes"], edges=described["edges"])


def labelled(widgets: Any, label: str) -> Any:
    """The one widget of that label."""
    (found,) = [widget for widget in widgets if widget.label == label]
    return found


def texts(at: AppTest) -> str:
    """All that the page says."""
    parts = (at.markdown, at.caption, at.info, at.success, at.warning, at.error)
    said = "\n".join(str(element.value) for part in parts for element in part)
    return spoken(said)


def spoken(said: str) -> str:
    """Without what keeps a number and its % on one line."""
    return said.replace("\u00a0%", " %")


def show(at: AppTest, name: str) -> AppTest:
    """A tab beside the canvas."""
    at.session_state["beside"] = name
    return at.run()


def part(at: AppTest, name: str) -> AppTest:
    """A tab of the Data page, by its whole name."""
    at.session_state["data_part"] = name
    return at.run()


def dialog(at: AppTest, name: str) -> AppTest:
    """Open a dialog of the Design page by its button."""
    return at.button(key=f"open_{name}").click().run()


def use_template(at: AppTest, name: str) -> AppTest:
    dialog(at, "Templates").button(key=f"use_{name}").click().run()
    return at
