"""``spnmkl validate``: what is wrong with a structure, and with it on the tables that it is for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from spnmkl.cli.arguments import BAD_INPUT
from spnmkl.cli.streams import STANDARD, read_once, read_spn, target, write_spn
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import SPNMKLError
from spnmkl.kernels import KernelIssue
from spnmkl.reporting.sentences import count_text
from spnmkl.structure import SPN, Issue
from spnmkl.training.checks import all_issues, errors
from spnmkl.training.kernel_checks import kernel_issues, repaired_on_data
from spnmkl.training.prepared import prepared_columns
from spnmkl.wording import counted

UNFIT = 1
MOST_WARNINGS = 5
ALL_ROWS = SplitSettings(0.0)
Refuse = Callable[[SPN, Dataset, Choices], None]


def validate(args: argparse.Namespace, read: Callable[[], tuple[Dataset, Choices]], refuse: Refuse) -> int:
    """Print what is wrong and write what was repaired; `read` gives the tables, `refuse` raises what `fit` would."""
    out = target(args.repair or STANDARD, *(args.data or []))
    read_once(args.structure, *(args.data or []))
    # Where the repaired structure goes to standard output, words go beside it.
    stream = sys.stderr if args.repair == STANDARD else sys.stdout
    spn = read_spn(args.structure)
    issues = all_issues(spn)
    for issue in issues:
        print(f"{issue.severity}: {_with_repair(issue)}", file=stream)
    if args.repair is not None:
        spn = spn.repaired()
    data = read() if args.data and not errors(all_issues(spn)) else None
    for found in _warnings(spn, *data, ALL_ROWS) if data is not None else ():
        print(f"warning: {_with_repair(found)}", file=stream)
    if args.repair is not None:
        spn = spn if data is None else repaired_on_data(spn, *data, ALL_ROWS)
        write_spn(spn, out)
        issues = all_issues(spn)
        saved = "" if out is None else f" saved as {out}"
        print(f"repaired structure{saved}; errors left: {len(errors(issues))}", file=stream)
    if errors(issues):
        return BAD_INPUT
    unfit = [] if data is None else _unfit(spn, *data, refuse)
    for sentence in unfit:
        print(f"error: {sentence}", file=stream)
    if unfit:
        return UNFIT
    fits = f", fits {', '.join(Path(given).name for given in args.data)}" if args.data else ""
    print(f"valid: {spn!r}, {count_text(spn.n_paths)} paths, {counted(spn.n_layers, 'layer')}{fits}", file=stream)
    return 0


def doubtful(
    spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings, *, by_evidence: bool = False
) -> list[str]:
    """Kernels that cannot work on these data; what cannot even be computed is refused by the training itself.

    Evidence can choose among widths that compete.
    """
    found = [issue for issue in _warnings(spn, dataset, choices, split) if not (by_evidence and issue.widths)]
    said = [_with_repair(issue) for issue in found[:MOST_WARNINGS]]
    more = len(found) - len(said)
    return said + [f"And {counted(more, 'such warning')} more: see spnmkl validate --data."] * (more > 0)


def _warnings(spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings) -> list[KernelIssue]:
    return [issue for issue in kernel_issues(spn, dataset, choices, split) if issue.severity == "warning"]


def _with_repair(issue: Issue) -> str:
    return issue.message + (f" Repair: {issue.repair}." if issue.repair else "")


def _unfit(spn: SPN, dataset: Dataset, choices: Choices, refuse: Refuse) -> list[str]:
    """Why `fit` would refuse a structure without errors on these tables."""
    wrong = [issue.message for issue in errors(all_issues(spn, dataset, choices))]
    if wrong:
        return wrong
    try:
        refuse(spn, dataset, choices)
        if dataset.label is not None:
            prepared_columns(spn, dataset, choices, ALL_ROWS)[2].mapped(spn)
    except SPNMKLError as error:
        return [str(error)]
    return [issue.message for issue in errors([*kernel_issues(spn, dataset, choices, ALL_ROWS)])]
