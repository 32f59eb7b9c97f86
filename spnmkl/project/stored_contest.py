"""A comparison of methods as one part of an archive, and back; nothing in it is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from spnmkl.data import Choices, SplitSettings
from spnmkl.measures import check_counts, scoring_name
from spnmkl.project.archive import Reader, Writer
from spnmkl.project.checked_values import count, finite, number, text, texts
from spnmkl.project.stored_run import read_choices, read_split
from spnmkl.structure import SPN
from spnmkl.study.contest import MEASURES, Contest, Entry, Plan, Portrait
from spnmkl.training.settings import Settings

MEMBER = "comparison.json"
MOST_RESULTS = 100_000
MOST_ROUNDS = 1000
_SCORES = ("accuracy", "roc_auc", "balanced_accuracy")
_NUMBERS = ("C", "seconds", "gap")
_COUNTS = ("repeat", "fold", "n_train", "n_test", "kernels", "active")


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison and what it is of."""

    contest: Contest
    spn: SPN
    choices: Choices
    split: SplitSettings
    settings: Settings


def write_comparison(writer: Writer, compared: Compared) -> None:
    """All that the page Compare shows of it."""
    contest = compared.contest
    writer.json(
        MEMBER,
        {
            "structure": compared.spn.to_dict(),
            "choices": compared.choices.to_dict(),
            "split": asdict(compared.split),
            "settings": compared.settings.to_dict(),
            "plan": asdict(contest.plan),
            "methods": list(contest.methods),
            "reference": contest.reference,
            "total": contest.total,
            "dataset_name": contest.dataset_name,
            "n_rows": contest.n_rows,
            "remarks": list(contest.remarks),
            "over_columns": list(contest.over_columns),
            "drawn": {name: spn.to_dict() for name, spn in contest.drawn.items()},
            "entries": [finite(asdict(r)) for r in contest.results if isinstance(r, Entry)],
            "portraits": [_stored(r) for r in contest.results if isinstance(r, Portrait)],
        },
    )


def read_comparison(reader: Reader) -> Compared:
    """What `write_comparison` wrote; refused in one sentence where it is not as it should be."""
    stored = reader.json(MEMBER)
    with reader.part(MEMBER):
        methods = _names(stored["methods"])
        if not methods or stored["reference"] not in methods:
            raise ValueError("the method that others are compared with is none of them")
        drawn = {_one_of(name, methods): SPN.from_dict(spn) for name, spn in stored["drawn"].items()}
        plan = _read_plan(stored["plan"])
        results = _read_results(stored, methods, plan)
        contest = Contest(
            plan,
            methods,
            results,
            count(stored["total"], MOST_RESULTS),
            text(stored["dataset_name"]),
            count(stored["n_rows"]),
            texts(stored["remarks"]),
            stored["reference"],
            drawn,
            tuple(_one_of(name, methods) for name in _names(stored["over_columns"])),
        )
        return Compared(
            contest,
            SPN.from_dict(stored["structure"]),
            read_choices(stored["choices"]),
            read_split(stored["split"]),
            Settings.from_dict(stored["settings"]),
        )


def _stored(portrait: Portrait) -> dict[str, Any]:
    return finite(
        {
            "method": portrait.method,
            "structure": portrait.spn.to_dict(),
            "beta": dict(portrait.beta),
            "C": portrait.C,
            "seconds": portrait.seconds,
            "shares": dict(portrait.shares),
            "rows": portrait.rows,
        }
    )


def _read_plan(stored: Mapping[str, Any]) -> Plan:
    counts = {name: count(stored[name], MOST_ROUNDS) for name in ("folds", "repeats", "inner", "points")}
    if set(stored) != {field.name for field in fields(Plan)} or counts["folds"] < 2 or not counts["repeats"]:
        raise ValueError("the plan is none of a comparison")
    return Plan(**counts, tol=number(stored["tol"]), scoring=scoring_name(stored["scoring"]))


def _read_results(stored: Mapping[str, Any], methods: tuple[str, ...], plan: Plan) -> tuple[Entry | Portrait, ...]:
    entries = [_read_entry(entry, methods, plan) for entry in _list(stored["entries"])]
    portraits = [_read_portrait(portrait, methods) for portrait in _list(stored["portraits"])]
    if len({(e.method, e.repeat, e.fold) for e in entries}) < len(entries):
        raise ValueError("a method has two results on one fold")
    if len({len(e.rows) for e in entries}) > 1:
        raise ValueError("results count rows of different classes")
    if len({p.method for p in portraits}) < len(portraits):
        raise ValueError("a method is drawn twice")
    return *entries, *portraits


def _read_entry(stored: Mapping[str, Any], methods: tuple[str, ...], plan: Plan) -> Entry:
    counts: dict[str, Any] = {name: count(stored[name]) for name in _COUNTS}
    if not 1 <= counts["repeat"] <= plan.repeats or not 1 <= counts["fold"] <= plan.folds:
        raise ValueError("a result is of a fold that there is not")
    scores: dict[str, Any] = {name: number(stored[name]) for name in _SCORES}
    if any(value < 0 or value > 1 for value in scores.values()):
        raise ValueError("a score is not between 0 and 1")
    numbers: dict[str, Any] = {name: number(stored[name]) for name in _NUMBERS}
    named: dict[str, Any] = {"method": _one_of(stored["method"], methods), "setting": text(stored["setting"])}
    tested: dict[str, Any] = {name: tuple(map(count, _list(stored.get(name, [])))) for name in ("rows", "right")}
    check_counts(counts["n_test"], tested["rows"], [tested["right"]])
    errors = tuple(map(number, _list(stored.get("difference_errors", []))))
    if len(errors) not in (0, len(MEASURES)) or not all(error >= 0 for error in errors):
        raise ValueError("a result has no error for the difference of each measure")
    return Entry(**named, **counts, **scores, **numbers, **tested, difference_errors=errors)


def _read_portrait(stored: Mapping[str, Any], methods: tuple[str, ...]) -> Portrait:
    spn = SPN.from_dict(stored["structure"])
    beta, shares = ({text(v): number(value) for v, value in stored[name].items()} for name in ("beta", "shares"))
    if set(beta) != set(spn.products) or not set(shares) <= set(spn.nodes) or not all(b >= 0 for b in beta.values()):
        raise ValueError("the weights of a method are not those of its structure")
    return Portrait(
        _one_of(stored["method"], methods),
        spn,
        beta,
        number(stored["C"]),
        number(stored["seconds"]),
        shares,
        count(stored["rows"]),
    )


def _list(stored: object) -> list[Any]:
    if not isinstance(stored, list) or len(stored) > MOST_RESULTS:
        raise ValueError(f"a list of up to {MOST_RESULTS:,} results was expected")
    return stored


def _names(stored: object) -> tuple[str, ...]:
    names = texts(stored)
    if len(set(names)) < len(names):
        raise ValueError("two methods have one name")
    return names


def _one_of(name: object, methods: tuple[str, ...]) -> str:
    if text(name) not in methods:
        raise ValueError("a result is of a method that did not take part")
    return str(name)
