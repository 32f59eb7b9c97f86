"""For somebody who draws nothing and sets nothing: a drawing over every column, and what cross-validation chose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from spnmkl.data import Choices, Dataset, Preparation, Split, SplitSettings, apart, step_notes
from spnmkl.data.suggesting import Suggestion
from spnmkl.errors import DataError, Stopped
from spnmkl.rivals import ALONE, Choice, best_of, choose_rival
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.structure.defaults import ALONE_P, Part, Suits, default_drawing
from spnmkl.training.bring import training_suggestions
from spnmkl.training.choose import FOLDS, most_folds
from spnmkl.training.choosing import Choosing
from spnmkl.training.learn import TrainingKernels
from spnmkl.training.prepared import Prepared, labelled_parts, leaves_by_view, prepare
from spnmkl.training.settings import Settings
from spnmkl.training.whole import learning_part
from spnmkl.wording import listed

SUITS: dict[str, Suits] = {"counts": "angles", "word counts": "angles"}  # distances for everything else
LOST, ADVICE = "Nothing can be chosen by cross-validation", "add rows, or leave the class out"
CHOOSING_SECONDS = 60.0  # where no time was set
FEWEST_ANGLES = 3  # columns, of which proportions can tell something


@dataclass(frozen=True, eq=False)
class Default:
    """What was chosen, ready to be trained.

    Attributes
    ----------
    prepared : Prepared
        The drawing and its kernels.
    settings : Settings
        With the C and the kind of weights.
    choice : Choice or None
        Among what these were chosen; None where both were given, or no folds can be made.
    sentences : tuple of str
        What was chosen and why, a sentence each.
    """

    prepared: Prepared
    settings: Settings
    choice: Choice | None
    sentences: tuple[str, ...]


def suited_drawing(dataset: Dataset, choices: Choices, split: SplitSettings, rows: Split | None = None) -> SPN:
    """A flat sum over every view and every column, of kernels that suit what the training rows say of the columns.

    `rows` are in the place of the split, as for `prepare`.
    """
    train = (labelled_parts(dataset, split)[0] if rows is None else rows).train
    used = Preparation.of(dataset, choices, train).names
    kinds = training_suggestions(dataset, choices, split, None if rows is None else train)
    return default_drawing(list(suited_parts(dataset, choices, kinds, used)))


def suited_parts(
    dataset: Dataset, choices: Choices, kinds: Mapping[str, Suggestion], used: Collection[str] | None = None
) -> Iterator[Part]:
    """The numbers of every view, and its text; columns in no view come last, given matrices after them.

    `used` are the columns that the preparation leaves, where that is known.
    """
    text = set(dataset.categorical) if choices.categorical == "codes" else set()
    columns = dataset.numeric if choices.categorical == "drop" else dataset.features
    if used is not None:
        left = set(used)
        columns = tuple(c for c in columns if c in left)
    rest = "others" if dataset.feature_views else ""
    while rest and rest in dataset.views:
        rest = f"all {rest}"
    for view, members in apart(dataset.views, columns).items():
        name = view or rest
        numbers = tuple(c for c in members if c not in text)
        words = tuple(c for c in members if c in text)
        if numbers:
            kind = kinds[view].kind if view in kinds and len(numbers) >= FEWEST_ANGLES else ""
            yield Part(name, numbers, SUITS.get(kind, "distances"))
        if words:
            yield Part(f"{name} text".strip() if numbers else name or "text", words, "categories")
    for matrix in dataset.matrices:
        yield Part(matrix, None, "matrix")


def prepared_by_default(
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    *,
    weights: str | None = None,
    choose_C: bool = True,
    choose_steps: bool = True,
    rows: Split | None = None,
    max_memory: float | None = None,
    n_threads: int | None = None,
    max_time: float | None = None,
    stop: Callable[[], bool] | None = None,
    tick: Callable[[str], object] | None = None,
) -> Default:
    """The default drawing on the training rows, with what is not given chosen by cross-validation among them.

    Parameters
    ----------
    dataset : Dataset
    choices : Choices
        Of the preparation, where "auto" is what `spnmkl.data.suggest` says of each view.
    split : SplitSettings
    settings : Settings
        Of the training; C is taken from here where it is not chosen.
    weights : {"certified", "evidence"}, optional
        Given, or chosen.
    choose_C, choose_steps : bool
        Whether C is chosen, or the kind of weights alone at the C that is set; and whether plain standardising is tried
        where the columns suggest otherwise.
    rows, max_memory, n_threads, max_time, stop, tick
        As of `prepare` and `choose_rival`; choosing takes half of the time at most.
    """

    def ready(tried: Choices) -> Prepared:
        spn = suited_drawing(dataset, tried, split, rows)
        return prepare(spn, dataset, tried, split, tick, rows, max_memory, settings.sampled_rows)

    def chosen(prepared: Prepared) -> Choice | None:
        part = learning_part(prepared, settings)
        return choose_rival(
            prepared.mapped,
            prepared.source,
            prepared.y_train,
            folds=folds,
            scoring=settings.scoring,
            groups=prepared.groups,
            random_state=split.seed,
            weights=weights,
            C=None if choose_C else settings.C,
            lam=part.settings.lam,
            p=settings.p,
            sample_weight=part.weight,
            class_weight=part.settings.class_weight,
            n_threads=n_threads,
            max_time=deadline.left,
            stop=stop,
            tick=tick,
        )

    deadline = Deadline(None if max_time is None else max_time / 2, stop)  # the rest is for learning
    prepared = ready(choices)
    if not choose_C and weights is not None:
        return Default(prepared, replace(settings, weights=weights), None, ())
    two = len(prepared.classes) == 2  # of several, a fold may lack one
    try:
        folds = most_folds(prepared.y_train, prepared.groups, FOLDS, every_class=two, lost=LOST, advice=ADVICE)
    except DataError as error:  # evidence needs no folds, and any C is of use to it
        return _unchosen(prepared, settings, weights or "evidence", [str(error)])
    choice = chosen(prepared)
    said = [f"Preparation: {note}" for note in step_notes(dataset, choices, prepared.train)]
    plain = replace(choices, numeric="standardize", views=())
    if choice is not None and choose_steps and said and choices.numeric == "auto" and not deadline():
        rival = None
        with suppress(Stopped):  # what was chosen before is kept
            other = ready(plain)
            rival = chosen(other)
        if rival is not None:
            better = best_of([choice.best, rival.best], choice.telling, folds) is rival.best
            said = [*([] if better else said), _beside(choice, rival, better)]
            if better:
                prepared, choice = other, rival
    if choice is None:
        said.append("No choice was made within the time.")
        return _unchosen(prepared, settings, weights or "certified", said)
    settings = replace(settings, **choice.best.options)
    return Default(_kept(prepared, dataset, choice), settings, choice, (*said, *choice.sentences))


def time_to_choose(max_time: float | None) -> float:
    """Seconds of `prepared_by_default`, half of which are for choosing."""
    return 2 * CHOOSING_SECONDS if max_time is None else max_time


def chosen_in_time(
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    *,
    max_time: float | None,
    stop: Callable[[], bool],
    **asked: Any,
) -> Default:
    """As `prepared_by_default`, never without a limit; where that, or a stop, cut the choice short, it is said."""
    began, limit = time.monotonic(), time_to_choose(max_time)
    found = prepared_by_default(dataset, choices, split, settings, max_time=limit, stop=stop, **asked)
    late = time.monotonic() - began >= limit / 2
    if found.choice is None or not (stop() or late or found.choice.unfinished):
        return found
    when = "Stopped while choosing" if stop() else f"{limit / 2:.3g} s were too short for all of the choice"
    tried = listed([rival.name for rival in found.choice.rivals])
    return replace(found, sentences=(*found.sentences, f"{when}: tried to the end were {tried}."))


def chosen_again(
    asked: Choosing,
    dataset: Dataset,
    split: SplitSettings,
    rows: Split,
    *,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    tick: Callable[[str], object] | None = None,
) -> Default:
    """All that was chosen for a training, chosen anew on other rows, in as much time."""
    return prepared_by_default(
        dataset,
        asked.choices,
        split,
        asked.settings,
        weights=asked.weights,
        choose_C=asked.choose_C,
        choose_steps=asked.choose_steps,
        rows=rows,
        max_memory=math.inf,
        n_threads=n_threads,
        max_time=asked.max_time,
        stop=stop,
        tick=tick,
    )


def _beside(suggested: Choice, plain: Choice, better: bool) -> str:
    """Which preparation was taken, by the same rule as weights, and what the other had."""
    if better:
        taken, other, told = "plain standardising", "what the columns suggest", plain.beside(suggested.best)
    else:
        taken, other, told = "as the columns suggest", "plain standardising", suggested.beside(plain.best)
    return f"Preparation: {taken}; on the folds that both have, with {other}, {told}."


def _unchosen(prepared: Prepared, settings: Settings, weights: str, said: list[str]) -> Default:
    """With the C that is set, and why."""
    sentences = (*said, f"Weights: {weights} weights, at C = {settings.C:g}.")
    return Default(prepared, replace(settings, weights=weights), None, sentences)


def _kept(prepared: Prepared, dataset: Dataset, choice: Choice) -> Prepared:
    """What is left to train where one kernel alone was best: the same rows and kernels."""
    if choice.best.name != ALONE:
        return prepared
    left = set(choice.best.spn.nodes)
    stored = prepared.spn.to_dict()
    nodes = [node for node in stored["nodes"] if node["id"] in left]
    edges = [edge for edge in stored["edges"] if edge[0] in left and edge[1] in left]
    spn = SPN.from_dict({**stored, "nodes": nodes, "edges": edges}).with_p(ALONE_P)
    fitted = {leaf: kernel for leaf, kernel in prepared.fitted.items() if leaf in left}
    kernels = TrainingKernels(prepared.source, fitted)
    return replace(prepared, spn=spn, mapped=choice.best.spn, trained_on=kernels, views=leaves_by_view(spn, dataset))
