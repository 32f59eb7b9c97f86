"""What a search for a drawing suggested as a plain document, and back; nothing in it is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from spnmkl.measures import scoring_name
from spnmkl.project.checked_values import count, finite, number, text, texts
from spnmkl.search import Outer, Score, Suggestion, Suggestions
from spnmkl.structure import SPN

MOST_SUGGESTIONS = 100
_NUMBERS = ("log_evidence", "over_flat", "criterion", "C")
_SHARES = ("weights", "certified")
_SWITCHES = ("is_flat", "multiplies")
_COUNTS = ("refits", "rows", "held_out", "subsamples")
_ENDS = ("done", "budget", "stopped")


def suggestions_document(found: Suggestions) -> dict[str, Any]:
    """All that is shown of it, as JSON can hold it."""
    return {
        "suggestions": [_stored(one) for one in found],
        "found": found.found,
        "beats_constant": found.beats_constant,
        "leads": found.leads,
        "sentence": found.sentence,
        **{name: getattr(found, name) for name in _COUNTS},
        "outer": None if found.outer is None else [_score(found.outer.search), _score(found.outer.flat)],
        "ended": found.ended,
        "seconds": found.seconds,
        "views": {view: list(columns) for view, columns in found.views.items()},
    }


def read_suggestions(stored: Mapping[str, Any]) -> Suggestions:
    """What `suggestions_document` gave."""
    listed = stored["suggestions"]
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_SUGGESTIONS:
        raise ValueError(f"a list of up to {MOST_SUGGESTIONS} suggestions was expected")
    suggestions = tuple(map(_read, listed))
    if sum(one.is_flat for one in suggestions) != 1 or stored["ended"] not in _ENDS:
        raise ValueError("the suggestions are not those of a search")
    outer, counts = stored["outer"], {name: count(stored[name]) for name in _COUNTS}
    return Suggestions(
        suggestions=suggestions,
        found=_switch(stored["found"]),
        beats_constant=_switch(stored["beats_constant"]),
        leads=_switch(stored.get("leads", False)),  # earlier releases took a product or the flat sum
        sentence=text(stored["sentence"]),
        outer=None if outer is None else Outer(*map(_read_score, outer)),
        ended=stored["ended"],
        seconds=number(stored["seconds"]),
        views={text(view): texts(columns) for view, columns in stored["views"].items()},
        **counts,
    )


def _stored(one: Suggestion) -> dict[str, Any]:
    return {
        "structure": one.spn.to_dict(),
        "formula": one.formula,
        **finite({name: getattr(one, name) for name in _NUMBERS}),
        **{name: dict(getattr(one, name)) for name in _SHARES},
        "score": _score(one.score),
        "evidence_score": _score(one.evidence_score),
        "recurs": one.recurs,
        **{name: getattr(one, name) for name in _SWITCHES},
        "sentence": one.sentence,
    }


def _read(stored: Mapping[str, Any]) -> Suggestion:
    spn = SPN.from_dict(stored["structure"])
    weights: dict[str, Any] = {name: {text(v): number(w) for v, w in stored[name].items()} for name in _SHARES}
    if any(v not in spn.products or not w >= 0 for shares in weights.values() for v, w in shares.items()):
        raise ValueError("the weights of a suggestion are not those of its structure")
    recurs = {text(branch): number(share) for branch, share in stored["recurs"].items()}
    if not all(0 <= share <= 1 for share in recurs.values()):
        raise ValueError("a share is not between 0 and 1")
    numbers: dict[str, Any] = {name: number(stored[name]) for name in _NUMBERS}
    switches: dict[str, Any] = {name: _switch(stored[name]) for name in _SWITCHES}
    return Suggestion(
        spn=spn,
        formula=text(stored["formula"]),
        **numbers,
        **weights,
        score=_read_score(stored["score"]),
        evidence_score=_read_score(stored["evidence_score"]),
        recurs={} if switches["is_flat"] else recurs,  # earlier releases said 0 % there
        **switches,
        sentence=text(stored["sentence"]),
    )


def _score(score: Score) -> dict[str, Any]:
    return finite(asdict(score))


def _read_score(stored: Mapping[str, Any]) -> Score:
    mean, error = number(stored["mean"]), number(stored["error"])
    guess, by_rows = number(stored.get("guess")), _switch(stored.get("by_rows", False))  # older files have neither
    return Score(mean, error, count(stored["folds"]), scoring_name(stored["scoring"]), guess, by_rows)


def _switch(stored: object) -> bool:
    if type(stored) is not bool:
        raise ValueError("true or false was expected")
    return stored
