"""What views are worth, in plain words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd
from scipy import stats

from spnmkl.measures import Measure, one_round, which_error
from spnmkl.parameters import CHOSEN
from spnmkl.study.contest import LEVEL
from spnmkl.study.significance import FEWEST
from spnmkl.wording import counted, listed, whole_percent

if TYPE_CHECKING:
    from spnmkl.importance.result import ViewImportance

Row = Mapping[Hashable, Any]
ENDS = ("", "_low", "_high")
OF_ROWS = ("alone", "without", "drop")  # whose intervals may be those of the number of rows
NARROW = 0.05
BELOW = 0.02  # a score that much below guessing is told of
MORE_ROUNDS = 5


def full_sentence(found: ViewImportance) -> str:
    """All views together: 77 % (72–81) right on rows not trained on, by 5 folds of 300 training rows."""
    if not found.folds:
        return "It was stopped before the first fold was done."
    full, measure = found.full, found.measure
    done = counted(len(found.folds), "fold")
    of = f"{done} of {found.rows}" if found.complete else f"{len(found.folds)} of {found.planned} folds of {found.rows}"
    stopped = "" if found.complete else "; it was stopped before the others"
    guess = "always answering the most frequent class" if found.scoring == "accuracy" else "guessing"
    how = at_weights(found.weights, [fold.weights for fold in found.folds])
    return (
        f"All views together: {measure.title} {with_interval(measure, *full)} on rows not "
        f"trained on ({of}{stopped}){how}; {guess} gets {_number(measure, found.guessing)}{_unit(measure)}."
    )


def at_weights(weights: str, folds: Sequence[str] = ()) -> str:
    """Which weights the trainings had, where these are not simply the certified ones."""
    if weights != CHOSEN:
        return ", at evidence weights" if weights == "evidence" else ""
    times = ", ".join(f"{kind} in {n}" for kind, n in Counter(folds).items())
    said = (
        "certified or evidence weights, the latter where they are better by more than the error of the difference on "
    )
    said += "folds within each training part"
    return f", at {said}" + (f" ({times})" if times else "")


def view_sentence(row: Row, measure: Measure) -> str:
    """genes: alone 72 % (68–76), without it the rest reaches 81 % (77–85), drop 4.0 points (1.0–7.0)."""
    parts = []
    if math.isnan(row["alone"]):
        parts.append("no kernel sees it")
    else:
        parts.append(f"alone {with_interval(measure, *(row[f'alone{end}'] for end in ENDS))}")
    if math.isnan(row["without"]):
        parts.append("without it no kernel is left")
    else:
        rest = with_interval(measure, *(row[f"without{end}"] for end in ENDS))
        parts.append(f"without it the rest reaches {rest}")
        parts.append(f"drop {points(row, measure)}")
    if not math.isnan(row["share"]):
        parts.append(f"held-out share {share_text(row)}")
    return f"{row['view']}: {', '.join(parts)}."


def points(row: Row, measure: Measure) -> str:
    """4.0 points (1.0 to 7.0)."""
    said = f"{_difference(measure, row['drop'])}{' points' if measure.percent else ''}"
    if math.isnan(row["drop_low"]):
        return said
    return f"{said} ({_difference(measure, row['drop_low'])} to {_difference(measure, row['drop_high'])})"


def share_text(row: Row) -> str:
    """43 % (12 to 74); over folds, which may end below 0 or above 100."""
    share, low, high = (row[f"share{end}"] for end in ENDS)
    if math.isnan(low):
        return whole_percent(share)
    ends = " to ".join(f"{round(100 * end) + 0:d}".replace("-", "−") for end in (low, high))
    return f"{whole_percent(share)} ({ends})"


def with_interval(measure: Measure, mean: float, low: float, high: float) -> str:
    """72 % (68–76); a narrow interval has a digit more."""
    if math.isnan(low):
        return f"{_number(measure, mean)}{_unit(measure)}"
    digits = int(high - low < NARROW)
    ends = f"{_number(measure, low, digits)}–{_number(measure, high, digits)}"
    return f"{_number(measure, mean, digits)}{_unit(measure)} ({ends})"


def _unit(measure: Measure) -> str:
    return " %" if measure.percent else ""


def _number(measure: Measure, value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f}" if measure.percent else f"{value:.{digits + 2}f}"


def _difference(measure: Measure, value: float) -> str:
    """Nearly nothing is 0 and not −0."""
    scaled, digits = (100 * value, 1) if measure.percent else (value, 3)
    return f"{round(scaled, digits) + 0.0:.{digits}f}".replace("-", "−")


def shown_views(found: ViewImportance) -> pd.DataFrame:
    """Numbers with their intervals, as people read them; the download has all digits."""
    rows = found.table.to_dict("records")

    def with_ends(name: str) -> list[str]:
        return [
            "–" if pd.isna(r[name]) else with_interval(found.measure, *(r[name + end] for end in ENDS)) for r in rows
        ]

    return pd.DataFrame(
        {
            "view": found.table["view"],
            "alone": with_ends("alone"),
            "without it": with_ends("without"),
            "drop": ["–" if pd.isna(r["drop"]) else points(r, found.measure) for r in rows],
            "share on folds": ["–" if pd.isna(r["share"]) else share_text(r) for r in rows],
        }
    )


def interval_sentence(found: ViewImportance) -> str:
    """What the intervals of scores and drops are; empty where there are none, or an earlier version measured them."""
    if not all(fold.rows for fold in found.folds):
        return ""
    flags = _by_rows(found)
    return which_error("Each interval of a score or drop is the 95 % interval", flags, "of them") if flags else ""


def _by_rows(found: ViewImportance) -> list[bool]:
    """Of every interval of a score or drop, whether it is that of the number of rows."""
    full = [found.full_by_rows] if math.isfinite(found.full.low) else []
    known = ((found.table[f"{name}_low"].notna(), found.table[f"{name}_by_rows"]) for name in OF_ROWS)
    return full + [bool(flag) for has_one, flags in known for flag in flags[has_one]]


def own_C_sentence(found: ViewImportance) -> str:
    """Which trainings had another C than the whole drawing; empty where none had."""
    times = Counter(chain.from_iterable(fold.own_C for fold in found.folds))
    if not times:
        return ""
    named = listed([f"{name} ({n} of {counted(len(found.folds), 'fold')})" for name, n in sorted(times.items())])
    nothing = (
        "no kernel would have a weight above zero" if found.weights == "certified" else "every answer would be the same"
    )
    return (
        f"At the C of the whole drawing {nothing} in {named}: there C was chosen anew, since nothing learned says "
        "nothing of what could be."
    )


def finding_sentences(found: ViewImportance) -> Iterator[str]:
    if own := own_C_sentence(found):
        yield own
    if len(found.folds) < FEWEST:
        if found.folds:
            yield f"{counted(len(found.folds), 'fold')}: too few to tell how sure these numbers are."
        return
    table = found.table.dropna(subset=["drop"])
    shown = table["view"].map(found.adjusted) < LEVEL
    needed = table.loc[shown & (table["drop"] > 0), "view"].tolist()
    better = table.loc[shown & (table["drop"] < 0), "view"].tolist()
    nearly = table.loc[~shown & (table["drop_low"] > 0), "view"].tolist()
    unclear = table.loc[~shown & ~(table["drop_low"] > 0)]
    if needed:
        yield f"The score falls, by more than chance, without {_any_of(needed)}."
    if better:
        yield f"The score rises, by more than chance, without {_any_of(better)}."
    if nearly:
        yield (
            f"By itself, the loss without {_any_of(nearly)} is more than chance; among {len(table)} views that were "
            "looked at, it may still be."
        )
    tells = unclear.loc[unclear["alone_low"] > found.guessing, "view"].tolist()
    silent = unclear.loc[~unclear["view"].isin(tells), "view"].tolist()
    if tells:
        each = "it tells" if len(tells) == 1 else "each of them tells"
        rows = unclear.loc[unclear["view"].isin(tells), "drop_by_rows"].all()
        few = f"{'these rows' if rows else counted(len(found.folds), 'fold')} are too few to see a loss"
        yield (
            f"No loss is shown without {_any_of(tells)}, though {each} something alone: the others may tell it too, or "
            f"{few}."
        )
    quiet = unclear[unclear["view"].isin(silent)]
    yield from _silent(found, quiet)
    yield from _below_guessing(found)
    if nearly or _leans(found, quiet).any():
        yield _more_rounds(found)
    if not found.shares_known:
        yield (
            "There are no shares: on these rows the mean of y·f, which they would be parts of, is not above 0 by twice "
            "its standard error."
        )
    elif found.table["share"].sum() > 1.005:
        yield (
            "Shares add up to more than 100 %, because a path that multiplies kernels of several views counts for each "
            "of them."
        )


def _silent(found: ViewImportance, rows: pd.DataFrame) -> Iterator[str]:
    """Views of which neither a loss nor a score alone is shown: some lean that way, others have nothing to show."""
    guess = _guess(found)
    leans = _leans(found, rows)
    for lean, part in ((True, rows[leans]), (False, rows[~leans])):
        if part.empty:
            continue
        none = f"No loss is shown without {_any_of(part['view'].tolist())}"
        scores = zip(part["view"], part["alone"], strict=True)
        alone = listed([f"{v} ({_number(found.measure, x)}{_unit(found.measure)})" for v, x in scores if x == x])
        lie, them = ("lies", "it") if len(part) == 1 else ("lie", "them")
        if lean:
            yield (
                f"{none}; alone, {alone} {lie} above {guess}, but {counted(len(found.folds), 'fold')} leave too wide "
                f"an interval to show it: that does not make {them} useless."
            )
        elif alone:
            yield f"{none}; alone, {alone} {'is' if len(part) == 1 else 'are'} not shown to tell more than {guess}."
        else:
            yield f"{none}."


def _guess(found: ViewImportance) -> str:
    return f"guessing ({_number(found.measure, found.guessing)}{_unit(found.measure)})"


def _below_guessing(found: ViewImportance) -> Iterator[str]:
    """Why a view that tells nothing can score less than nothing."""
    rows = found.table[found.table["alone"] < found.guessing - BELOW]
    if len(rows):
        scores = zip(rows["view"], rows["alone"], strict=True)
        alone = listed([f"{v} ({_number(found.measure, x)}{_unit(found.measure)})" for v, x in scores])
        lie = "lies" if len(rows) == 1 else "lie"
        yield (
            f"Alone, {alone} {lie} below {_guess(found)}: at the C of the whole drawing, what tells nothing learns "
            "training rows by heart, and scatters its answers on others. Read it as guessing."
        )


def _leans(found: ViewImportance, rows: pd.DataFrame) -> pd.Series:
    """Whether a view alone lies above guessing by twice the largest error that a share of these rows can have."""
    return rows["alone"] > found.guessing + 1 / math.sqrt(found.held_out)


def _more_rounds(found: ViewImportance) -> str:
    """What would narrow the intervals: rounds, as long as these are few."""
    by_rows = _by_rows(found)
    if found.rounds >= MORE_ROUNDS or all(by_rows):
        return "More rows would narrow the intervals; more rounds hardly would."
    done, in_one = len(found.folds), len(found.folds) * one_round([fold.repeat for fold in found.folds])
    narrower = 1 - _reach(MORE_ROUNDS * in_one, found) / _reach(done, found)
    which = "those over folds" if any(by_rows) else "these intervals"
    return f"{MORE_ROUNDS} rounds of folds (repeats) make {which} about {whole_percent(narrower)} narrower."


def _reach(folds: float, found: ViewImportance) -> float:
    """Half an interval over so many folds, in standard deviations over these (corrected resampled t)."""
    return float(stats.t.ppf(0.975, folds - 1)) * math.sqrt(1 / folds + found.test_by_train)


def _any_of(views: list[str]) -> str:
    return views[0] if len(views) == 1 else f"any one of {listed(views)}"
