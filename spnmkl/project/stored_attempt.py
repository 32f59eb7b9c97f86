"""A training that is going on, or was cut off: what it was asked to do, and its history so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from spnmkl.data import Choices, SplitSettings
from spnmkl.history import NUMBERS, history_arrays, read_history
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.checked_values import text
from spnmkl.project.stored_run import read_choices, read_split
from spnmkl.solution import Record
from spnmkl.structure import SPN
from spnmkl.training.settings import Settings

_DOCUMENT = "attempt.json"


@dataclass(frozen=True, eq=False)
class Attempt:
    """A training without a result; `key` tells it from others, `begun` is when it began, in seconds since 1970.

    The drawing is the one that it was asked for; the records may be of another, where a training chooses its own.
    """

    key: str
    begun: float
    dataset_name: str
    spn: SPN
    choices: Choices
    split: SplitSettings
    settings: Settings
    records: tuple[Record, ...] = ()

    @property
    def products(self) -> list[str]:
        """Whose weights the records tell."""
        return list(self.records[0].beta if self.records else self.spn.products)

    @property
    def sentence(self) -> str:
        """How far it came."""
        if not self.records:
            return "before its first iteration"
        last = self.records[-1]
        return f"after iteration {last.iteration}, at a gap of {last.gap:.1e}"


def write_attempt(attempt: Attempt) -> bytes:
    writer = Writer()
    numbers, weights = history_arrays(attempt.records, attempt.products)
    writer.json(
        _DOCUMENT,
        {
            "begun": attempt.begun,
            "dataset_name": attempt.dataset_name,
            "structure": attempt.spn.to_dict(),
            "choices": attempt.choices.to_dict(),
            "split": asdict(attempt.split),
            "settings": attempt.settings.to_dict(),
            "methods": [record.method for record in attempt.records],
            "products": attempt.products,
        },
    )
    writer.array("history.npy", numbers, np.float64)
    writer.array("weights.npy", weights, np.float64)
    return writer.finished()


def read_attempt(key: str, data: bytes) -> Attempt:
    reader = Reader("a training", data, own=True)
    document = reader.json(_DOCUMENT)
    with reader.part(_DOCUMENT):
        spn, settings = SPN.from_dict(document["structure"]), Settings.from_dict(document["settings"])
        products = _read_products(document.get("products", list(spn.products)))
    numbers = reader.array("history.npy", np.float64, None, len(NUMBERS))
    weights = reader.floats("weights.npy", len(numbers), len(products), at_least=0.0)
    reader.check_all_read()
    with reader.part(_DOCUMENT):
        return Attempt(
            key,
            float(document["begun"]),
            text(document["dataset_name"]),
            spn,
            read_choices(document["choices"]),
            read_split(document["split"]),
            settings,
            read_history(numbers, weights, document["methods"], products, settings.solver),
        )


def _read_products(stored: object) -> list[str]:
    if not isinstance(stored, list) or not all(isinstance(v, str) for v in stored) or len(set(stored)) < len(stored):
        raise ValueError("the products that its history weighs have no names of their own")
    return stored
