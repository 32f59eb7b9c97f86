"""What a stored preparation does to columns, in lines to read and as plain data."""

from __future__ import annotations

from typing import Any

from spnmkl.data.absence import apart
from spnmkl.data.choices import Step
from spnmkl.data.preparation import Preparation
from spnmkl.data.problems import STEP_WORDS
from spnmkl.wording import counted, listed, name_some

_MISSING = {
    "refuse": "refused",
    "mean": "numbers filled with the mean of the training rows, text a value of its own",
    "median": "numbers filled with the median of the training rows, text a value of its own",
    "drop rows": "their rows left out",
    "drop columns": "their columns left out",
}
_ABSENT = {"mean": "the average of the training rows stands for it", "drop rows": "left out"}
_TEXT = {"codes": "compared value by value", "one-hot": "one column of 0 and 1 for each value", "drop": "left out"}


def preparation_lines(preparation: Preparation) -> list[str]:
    """How columns were prepared, filled and adjusted, as the training rows said."""
    return [
        *(f"prepared: {where}: {STEP_WORDS[step]}" for step, where in _steps(preparation).items()),
        *_text_lines(preparation),
        f"missing values: {_MISSING[preparation.choices.missing]}{_lacking(preparation)}",
        *adjusted_lines(preparation),
    ]


def adjusted_lines(preparation: Preparation) -> list[str]:
    """What was taken away from the columns, where something was."""
    words = [covariate.words for covariate in preparation.adjustment.covariates]
    taken = "what this tells of the numbers in other columns is taken away"
    return [f"adjusted for {listed(words)}: {taken}"] if words else []


def preparation_facts(preparation: Preparation) -> dict[str, Any]:
    """What `preparation_lines` says, for programs."""
    return {
        "steps": preparation.steps,
        "text": list(preparation.text),
        "categorical": preparation.choices.categorical,
        "missing": preparation.choices.missing,
        "absent": preparation.choices.absent,
        "left_out": list(preparation.dropped),
        "adjusted_for": list(preparation.adjustment.names),
    }


def _steps(preparation: Preparation) -> dict[Step, str]:
    """What was done to numbers → the views to which it was, with their numeric columns."""
    parts, found = apart(dict(preparation.views), preparation.numeric), dict[Step, list[str]]()
    for view, step in preparation.steps.items():
        size = counted(len(parts[view]), "numeric column")
        found.setdefault(step, []).append(f"{view} ({size})" if view else f"{size} in no view" if any(parts) else size)
    return {step: listed(views) for step, views in found.items()}


def _text_lines(preparation: Preparation) -> list[str]:
    text, dropped = preparation.text, preparation.dropped
    how = _TEXT[preparation.choices.categorical]
    lines = [f"prepared: {counted(len(text), 'text column')} ({name_some(text)}): {how}"] if text else []
    return lines + ([f"left out: {counted(len(dropped), 'column')} ({name_some(dropped)})"] if dropped else [])


def _lacking(preparation: Preparation) -> str:
    how = _ABSENT.get(preparation.choices.absent)
    return "" if how is None else f"; rows that lack a whole view: {how}"
