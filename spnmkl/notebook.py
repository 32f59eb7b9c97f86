"""What a notebook shows of a structure, a solution and a fitted classifier.

The one module that looks upwards: pictures and sentences are made where all of them are made, once a notebook asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spnmkl.solution import Solution
    from spnmkl.structure import SPN

MOST_NODES = 1000  # beyond, even a picture whose groups are closed shows nothing in the flow of a page
PAGE = (1000.0, 600.0)


def drawing(spn: SPN, beta: Mapping[str, float] | None = None) -> str | None:
    """The structure as SVG, with its weights where they are known; groups are closed where it could not be read."""
    from spnmkl.export import fitting, to_svg

    return to_svg(spn, beta=beta, closed=fitting(spn, *PAGE)) if len(spn.nodes) <= MOST_NODES else None


def figure(solution: Solution) -> str:
    """The drawing with the learned weights, and below it what is proved; the sentence alone for a large one."""
    from spnmkl.reporting.sentences import certificate_sentence

    svg = drawing(solution.spn, solution.beta)
    sentence = f"<figcaption>{escape(certificate_sentence(solution))}</figcaption>"
    return f'<figure style="margin: 1em 0; overflow-x: auto">{svg or ""}{sentence}</figure>'


class ShownWithDrawing:
    """Puts the figure of `solution_` below the diagram that scikit-learn shows of an estimator."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_  # type: ignore[misc]  # raises AttributeError where text is asked for
        return lambda: diagram() + _figure_of(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += _figure_of(self)
        return bundle


def _figure_of(model: object) -> str:
    solution = getattr(model, "solution_", None)
    return "" if solution is None else figure(solution)
