"""Does structure help? `python benchmarks/experiments.py [--data FOLDER] [--short] [--sections …] [--out FOLDER]`.

accuracy: every method of `spnmkl.baselines` on the same stratified splits (70 % train) of the same sets, with the same
base kernels; columns are standardised, kernels fitted, and C (and the kernel, where a method takes one) chosen by
cross-validation, on the training rows alone. Sets are those that scikit-learn brings and, with --data, every CSV file
of a folder (features first, `label` last; `NAME.views.json` names the columns of views). beside: what users know, on
the same splits (`experiment_beside.py`). recovery, nested, additive:
labels drawn from known structures (`experiment_known.py`), more and more rows to learn them from, always the same 100
rows to test. convergence, sparsity, bound, evidence, search, real: as `experiment_convergence.py`,
`experiment_sparsity.py`, `experiment_bound.py`, `experiment_evidence.py`, `experiment_search.py` and
`experiment_real.py` say.

Each result is added to a CSV file at once; what stands there is not computed again, so a run can be interrupted and
continued, also with more sets or splits. report.md and its pictures are written from these files at the end, or from
them alone by --report-only. `seconds` is the time to choose C and train on ready matrices, one thread. MKLpy's EasyMKL
takes part on sets of two classes where MKLpy can be imported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import experiment_beside as beside
import experiment_bound as bound
import experiment_convergence as convergence
import experiment_evidence as evidence
import experiment_real as real
import experiment_search as search
import experiment_sparsity as sparsity
from experiment_data import Choice
from experiment_known import KNOWN
from experiment_methods import KEY, Accuracy, Cell, Structures, warm_up
from experiment_report import as_command, note_run, write_report
from experiment_store import Key, Progress, Row, Store, Task, settle

from spnmkl.parallel import Place, side_by_side


@dataclass(frozen=True)
class Configuration:
    accuracy: Accuracy
    known: Structures
    convergence: convergence.Convergence
    sparsity: sparsity.Sparsity
    bound: bound.Bound
    evidence: evidence.Evidence
    beside: beside.Beside
    search: search.Search
    real: real.Real


FULL = Configuration(
    Accuracy(Choice(5, 11, 1e-3, 2000), 20),
    Structures(Choice(3, 7, 1e-3, 2000), 10, (50, 100, 200)),
    convergence.Convergence(convergence.Settings(10.0, 1e-5, 40.0, 2000), tuple(convergence.SETS)),
    sparsity.Sparsity(
        Choice(3, 5, 1e-3, 400),
        5,
        tuple(sparsity.POWERS),
        ("breast_cancer", "wine", "heart", "ionosphere", "liver", "sonar"),
    ),
    bound.Bound(bound.Settings(1e-3, 20), 10, (50, 100, 200, 300), (2.0, 8.0, 32.0), tuple(bound.sets())),
    evidence.Evidence(evidence.Settings(3, 4, 1e-3), 8, (50, 100, 200, 400)),
    beside.Beside(Choice(5, 11, 1e-3, 2000), 20),
    search.Search(search.Settings(3, 5, 100), 10, (100, 200, 400), 40),
    real.Real(real.Settings(5, 11, 1e-3, 2000), 20),
)
SHORT = Configuration(
    Accuracy(Choice(2, 3, 1e-2, 70), 2, ("iris", "wine")),
    Structures(Choice(2, 3, 1e-2, 70), 2, (40, 80)),
    convergence.Convergence(convergence.Settings(10.0, 1e-2, 0.3, 60), ("breast cancer",)),
    sparsity.Sparsity(Choice(2, 2, 1e-2, 70), 1, ("sparse", "1", "2"), ("wine",)),
    bound.Bound(bound.Settings(1e-2, 2), 2, (40, 60), (2.0, 8.0), ("breast_cancer",)),
    evidence.Evidence(evidence.Settings(2, 2, 1e-2), 1, (40,)),
    beside.Beside(Choice(2, 3, 1e-2, 70), 2, ("iris", "wine")),
    search.Search(search.Settings(2, 2, 6), 1, (40,), 1, ("mixed",), ("formula",)),
    real.Real(real.Settings(2, 3, 1e-2, 70, budget=6), 2, ("iris", "wine")),
)
SECTIONS = ("accuracy", "beside", *KNOWN, "convergence", "sparsity", "bound", "evidence", "search", "real")


@dataclass(frozen=True)
class Section:
    """Where the results of a section stand, how they are computed, and what of."""

    file: str
    row: type
    depth: int
    described: str
    settings: Any
    tasks: Callable[[], Iterator[Task]]


def sections(c: Configuration, folder: Path | None) -> dict[str, Section]:
    known = {
        name: Section("known.csv", Cell, KEY, "known.json", c.known.choice, partial(c.known.tasks, name))
        for name in KNOWN
    }
    accuracy, pruned = partial(c.accuracy.tasks, folder), partial(c.sparsity.tasks, folder)
    return {
        "accuracy": Section("results.csv", Cell, KEY, "choice.json", c.accuracy.choice, accuracy),
        "beside": Section("beside.csv", Cell, KEY, "beside.json", c.beside.choice, partial(c.beside.tasks, folder)),
        **known,
        "convergence": Section(
            "convergence.csv", convergence.Step, 2, "convergence.json", c.convergence.settings, c.convergence.tasks
        ),
        "sparsity": Section("sparsity.csv", sparsity.Pruned, sparsity.KEY, "sparsity.json", c.sparsity.choice, pruned),
        "bound": Section("bound.csv", bound.Measured, bound.KEY, "bound.json", c.bound.settings, c.bound.tasks),
        "evidence": Section(
            "evidence.csv", evidence.Asked, evidence.KEY, "evidence.json", c.evidence.settings, c.evidence.tasks
        ),
        "search": Section("search.csv", search.Sought, search.KEY, "search.json", c.search.settings, c.search.tasks),
        "real": Section("real.csv", real.Sought, real.KEY, "real.json", c.real.settings, partial(c.real.tasks, folder)),
    }


def run(configuration: Configuration, folder: Path | None, out: Path, names: Sequence[str], command: str) -> None:
    available, pending = sections(configuration, folder), []
    for name in names:
        of_name = available[name]
        settle(out / of_name.described, asdict(of_name.settings))
        store = Store(out / of_name.file, of_name.row, of_name.depth)
        pending += [(name, store, task, left) for task in of_name.tasks() if (left := store.lacking(task))]
    if pending:
        note_run(out, command)
        warm_up()
    progress = Progress(sum(len(left) for *_, left in pending))
    stores = {name: store for name, store, *_ in pending}
    for name, key, rows in side_by_side(computed, None, [(name, task, left) for name, _, task, left in pending]):
        stores[name].add(rows)
        progress.step(", ".join([name, *(part for part in key if part != name)]))


def computed(_: None, work: tuple[str, Task, list[Key]], place: Place) -> Iterator[tuple[str, Key, list[Row]]]:
    """The results of one task, each with its section and key."""
    name, task, left = work
    yield from ((name, key, rows) for key, rows in zip(left, task.compute(left), strict=True))


def overridden(holder: Any, options: argparse.Namespace) -> Any:
    """The configuration, with what was asked for otherwise in all of its parts that have a field of that name."""
    changes = {}
    for field in fields(holder):
        value, asked = getattr(holder, field.name), getattr(options, field.name, None)
        if is_dataclass(value):
            changes[field.name] = overridden(value, options)
        elif asked is not None:
            changes[field.name] = tuple(asked) if isinstance(asked, list) else asked
    return replace(holder, **changes)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a minute's test that everything works")
    parser.add_argument("--data", type=Path, help="folder with more sets")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--sets", nargs="+", help="of accuracy, beside, real and sparsity")
    parser.add_argument("--methods", nargs="+", help="of beside; by default all")
    parser.add_argument("--splits", type=int)
    parser.add_argument("--seeds", type=int, help="draws of known structures, and of the rows for the bound")
    parser.add_argument("--sizes", type=int, nargs="+", help="rows to learn from there")
    parser.add_argument("--folds", type=int)
    parser.add_argument("--points", type=int, help="values of C")
    parser.add_argument("--report-only", action="store_true", help="compute nothing: the report from the files")
    parser.add_argument("--out", type=Path, help="by default docs/experiments/full, or short")
    options = parser.parse_args(arguments)
    out = options.out or Path(__file__).parents[1] / "docs" / "experiments" / ("short" if options.short else "full")
    if not options.report_only:
        given = sys.argv[1:] if arguments is None else arguments
        run(configured(options), options.data, out, options.sections, as_command("experiments.py", given, options.data))
    write_report(out)


def configured(options: argparse.Namespace) -> Configuration:
    changed: Configuration = overridden(SHORT if options.short else FULL, options)
    base = SHORT if options.short else FULL
    # These have sets of their own.
    return replace(
        changed,
        convergence=replace(changed.convergence, sets=base.convergence.sets),
        bound=replace(changed.bound, sets=base.bound.sets),
    )


if __name__ == "__main__":
    main()
