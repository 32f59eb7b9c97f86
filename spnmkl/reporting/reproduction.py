"""Python code that trains a run again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields

import pandas as pd

from spnmkl.data import Choices, Dataset, is_numeric
from spnmkl.export import to_python
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings

_IMPORTS = """\
from spnmkl.data import Choices, Dataset, SplitSettings, {readers}
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
"""
_END = """
prepared = prepare(spn, dataset, {choices}, {split}{sampled})
run = train(prepared, {settings})

print(run.test_scores.sentence())
for product, weight in run.solution.beta.items():
    print(f"{{product:>8}} {{weight:.6g}}")
"""


def reproduction_code(run: Run, dataset: Dataset) -> str:
    """Code that reads the data from a file, whose name is to be filled in, and trains the run again.

    Parameters
    ----------
    run : Run
    dataset : Dataset
        The data of the run.
    """
    first, _, structure = to_python(run.spn).partition("\n")
    given = bool(dataset.matrices)
    head = [first, _IMPORTS.format(readers="read_file, read_table" if given else "read_table")]
    head += ['FILE = "data.csv"  # fill in: the table']
    if given:
        head.insert(0, "from pathlib import Path\n")
        head += ['KERNELS = "kernels.npz"  # fill in: the kernel matrices']
    end = _END.format(
        choices=_call("Choices", _changed(run.choices, "numeric", "missing", "categorical")),
        split=_call("SplitSettings", asdict(run.split)),
        sampled="" if (rows := run.settings.sampled_rows) is None else f", sampled_rows={rows}",
        settings=_call("Settings", _changed(run.settings, "C")),
    )
    return "\n".join([*head, structure, "dataset = Dataset(", *_dataset(run, dataset), ")"]) + end


def _dataset(run: Run, dataset: Dataset) -> Iterator[str]:
    text = _looking_like_numbers(dataset)
    yield f"    {run.dataset_name!r},"
    yield f"    read_table(FILE, text_columns={text!r})," if text else "    read_table(FILE),"
    yield f"    label={run.label!r},"
    if dataset.ignored:
        yield f"    ignored={dataset.ignored!r},"
    if dataset.group is not None:
        yield f"    group={dataset.group!r},"
    if dataset.adjust:
        yield f"    adjust={dataset.adjust!r},"
    if run.choices.views or run.choices.numeric == "auto" or run.choices.absent != "as missing":
        yield f"    views={dict(dataset.views)!r},"
    if dataset.matrices:
        yield "    matrices=read_file(KERNELS, Path(KERNELS).read_bytes()).matrices,"


def _looking_like_numbers(dataset: Dataset) -> list[str]:
    """Columns of text that a reader would take for numbers."""
    frame = dataset.frame
    texts = (name for name in frame.columns if name not in dataset.ignored and not is_numeric(frame[name]))
    return [name for name in texts if pd.to_numeric(frame[name].dropna(), errors="coerce").notna().any()]


def _changed(asked: Settings | Choices, *always: str) -> dict[str, object]:
    usual = type(asked)()
    return {
        field.name: value
        for field in fields(asked)
        if (value := getattr(asked, field.name)) != getattr(usual, field.name) or field.name in always
    }


def _call(name: str, arguments: dict[str, object]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
