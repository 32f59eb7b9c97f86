"""What is known beside runs, with the drawing and settings that it is of: a search for C or for a drawing, or what data
replaced.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from spnmkl.data import Choices, SplitSettings
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.stored_run import (
    read_choices,
    read_cross_validation,
    read_labels,
    read_path,
    read_split,
    write_cross_validation,
    write_labels,
    write_path,
)
from spnmkl.project.stored_suggestions import read_suggestions, suggestions_document
from spnmkl.search import Suggestions
from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.structure import SPN
from spnmkl.training.settings import Settings

FOLDS, PATH, SUGGESTED = "folds", "path", "suggested"  # the kinds of searches
_DOCUMENT, _FOLDER, _SUGGESTIONS = "finding.json", "found", "suggestions.json"
Searched = CrossValidation | RegularizationPath | Suggestions
SEARCHES: dict[str, type] = {FOLDS: CrossValidation, PATH: RegularizationPath, SUGGESTED: Suggestions}


@dataclass(frozen=True, eq=False)
class Found:
    """The drawing, preparation, split and settings of something, and what was found for them, if anything."""

    spn: SPN
    choices: Choices
    split: SplitSettings
    settings: Settings
    value: Searched | None = None


def write_found(found: Found) -> bytes:
    writer, value = Writer(), found.value
    writer.json(
        _DOCUMENT,
        {
            "structure": found.spn.to_dict(),
            "choices": found.choices.to_dict(),
            "split": asdict(found.split),
            "settings": found.settings.to_dict(),
            "scoring": value.scoring if isinstance(value, CrossValidation) else None,
            "points": len(value.C) if isinstance(value, RegularizationPath) else 0,
            "mapped": value.solutions[0].spn.to_dict() if isinstance(value, RegularizationPath) else None,
        },
    )
    if isinstance(value, CrossValidation):
        write_cross_validation(writer, _FOLDER, value, found.spn)
    elif isinstance(value, RegularizationPath):
        write_labels(writer, _FOLDER, value.solutions[0])
        write_path(writer, _FOLDER, value)
    elif isinstance(value, Suggestions):
        writer.json(_SUGGESTIONS, suggestions_document(value))
    return writer.finished()


def read_found(data: bytes, name: str = "a finding", own: bool = False) -> Found:
    """What `write_found` wrote; refused in one sentence where it is not as it should be."""
    reader = Reader(name, data, own)
    document = reader.json(_DOCUMENT)
    with reader.part(_DOCUMENT):
        spn, settings = SPN.from_dict(document["structure"]), Settings.from_dict(document["settings"])
        choices, split = read_choices(document["choices"]), read_split(document["split"])
        value: Searched | None = None
        if document["points"]:
            mapped = SPN.from_dict(document["mapped"])
            value = read_path(reader, _FOLDER, document["points"], mapped, *read_labels(reader, _FOLDER))
        elif document["scoring"] is not None:
            value = read_cross_validation(reader, _FOLDER, spn, document["scoring"])
    if _SUGGESTIONS in reader:
        suggested = reader.json(_SUGGESTIONS)
        with reader.part(_SUGGESTIONS):
            value = read_suggestions(suggested)
    reader.check_all_read()
    return Found(spn, choices, split, settings, value)
