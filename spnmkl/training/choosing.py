"""What was chosen for a training by cross-validation, and from what it was chosen: enough to choose again elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spnmkl.data import Choices
from spnmkl.structure import SPN
from spnmkl.training.settings import Settings


@dataclass(frozen=True)
class Choosing:
    """A choice that was made, as `spnmkl.training.default.prepared_by_default` was asked for it.

    Attributes
    ----------
    spn : SPN
        The drawing over every column, of which one kernel alone may have been taken.
    choices : Choices
        Of the preparation, before plain standardising was tried.
    settings : Settings
        Before C, the kind of weights and p were chosen.
    sentences : tuple of str
        What was chosen and why.
    seconds : float
        What it took, without the training.
    max_time : float or None
        What it was given, half of it to choose.
    weights, choose_C, choose_steps : str or None, bool, bool
        What was given and not chosen.
    """

    spn: SPN
    choices: Choices
    settings: Settings
    sentences: tuple[str, ...] = ()
    seconds: float = 0.0
    max_time: float | None = None
    weights: str | None = None
    choose_C: bool = True
    choose_steps: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; of a choice in which nothing was given."""
        return {
            "structure": self.spn.to_dict(),
            "choices": self.choices.to_dict(),
            "settings": self.settings.to_dict(),
            "sentences": list(self.sentences),
            "seconds": self.seconds,
            "max_time": self.max_time,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Choosing:
        """What `to_dict` gave."""
        spn, limit, seconds = SPN.from_dict(stored["structure"]), stored["max_time"], float(stored["seconds"])
        spn.check()
        said = tuple(stored["sentences"])
        if not all(isinstance(line, str) for line in said) or not 0 <= seconds < math.inf:
            raise ValueError("what was chosen for it is told in no sentences, or took no time")
        if limit is not None and not (type(limit) is float and 0 < limit < math.inf):
            raise ValueError("the time to choose in is no number of seconds")
        choices, settings = Choices.from_dict(stored["choices"]), Settings.from_dict(stored["settings"])
        return cls(spn, choices, settings, said, seconds, limit)
