"""What evidence says of the branches below a sum: how much each carries, and what removing it would cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spnmkl.errors import Stopped
from spnmkl.evidence import fit_evidence
from spnmkl.solution import Record, Solution
from spnmkl.training.prepared import Prepared

NEEDED, NOT_NEEDED = 5.0, 1.0  # of Δ evidence: permuted labels give a whole drawing up to about 3


@dataclass(frozen=True, eq=False)
class BranchEvidence:
    """Evidence weights of a run's drawing on its training rows, branch by branch below one sum.

    Attributes
    ----------
    solution : Solution
        Of the run that it was asked for.
    node : str
        The sum.
    log_evidence : float
    rows : int
        How many rows it was computed on, of how many.
    of_rows : int
    shares, deltas : dict from product to float
        Only some of the deltas where it was stopped.
    """

    solution: Solution
    node: str
    log_evidence: float
    rows: int
    of_rows: int
    shares: Mapping[str, float]
    deltas: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; the run is known where it is kept."""
        return {name: getattr(self, name) for name in ("log_evidence", "rows", "of_rows")} | {
            name: dict(getattr(self, name)) for name in ("shares", "deltas")
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], solution: Solution, node: str) -> BranchEvidence:
        """What `to_dict` gave, perhaps from a file; `ValueError` where it is none of this sum."""
        spn = solution.spn
        branches = spn.children(node) if node in spn.sums else ()
        shares, deltas = ({str(v): float(x) for v, x in stored[name].items()} for name in ("shares", "deltas"))
        log_evidence, rows, of_rows = float(stored["log_evidence"]), int(stored["rows"]), int(stored["of_rows"])
        if set(shares) != set(branches) or not set(deltas) <= set(branches) or not 0 < rows <= of_rows:
            raise ValueError("the evidence is not of the branches of a sum of the drawing")
        if not all(map(math.isfinite, (log_evidence, *shares.values(), *deltas.values()))):
            raise ValueError("the evidence of branches holds numbers that are not finite")
        return cls(solution, node, log_evidence, rows, of_rows, shares, deltas)


def branch_evidence(
    prepared: Prepared,
    solution: Solution,
    node: str,
    say: Callable[[str], object] | None = None,
    done: Callable[[int, int], object] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> BranchEvidence | None:
    """Fit the evidence weights of the training rows, then remove the branches one by one; None where stopped early.

    Parameters
    ----------
    prepared : Prepared
    solution : Solution
        Of the run; its weights take no part.
    node : str
        A sum, whose children are the branches.
    say : callable, optional
        Called with a word now and then.
    done : callable, optional
        Called with how many branches are done, and how many there are.
    n_threads : int, optional
    stop : callable, optional
        Asked now and then; what is known by then is kept.
    """
    tell, count = say or (lambda words: None), done or (lambda k, total: None)
    wanted = stop or (lambda: False)
    branches = prepared.mapped.children(node)

    def follow(record: Record) -> None:
        tell(f"evidence weights, step {record.iteration}, log evidence {-record.objective:.5g}")

    found = fit_evidence(
        prepared.mapped, prepared.source, prepared.y_train, callback=follow, n_threads=n_threads, stop=stop
    )
    if wanted():
        return None
    deltas: dict[str, float] = {}
    for k, branch in enumerate(branches):
        count(k, len(branches))
        tell(f"without {prepared.spn.label(branch)}")
        try:
            deltas[branch] = found.delta(branch, stop)
        except Stopped:
            break
    shares = {v: found.shares[v] for v in branches}
    return BranchEvidence(solution, node, found.log_evidence, len(found.rows), len(prepared.y_train), shares, deltas)
