"""The command line, all of it calls of the library: one function for each of `arguments.COMMANDS`.

The exit code tells how ``spnmkl fit`` ended (`exits.FIT_EXITS`); the other commands return 0, 2 or 130,
``validate`` 2 for errors found and 1 for tables that do not fit.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from spnmkl.cli.arguments import ABORTED, BAD_INPUT, parsed
from spnmkl.cli.choosing import asked_choices
from spnmkl.cli.cluster import sent_to_cluster, write_deployment
from spnmkl.cli.defaulting import best_C, by_default, chosen_by, drawn, lacking
from spnmkl.cli.exits import EXIT_CODES
from spnmkl.cli.landmarks import certified, offered, proved, refuse_unsuited
from spnmkl.cli.noting import mistyped, refuse_unfilled, refuse_ungrouped, ungrouped
from spnmkl.cli.scoring import about_positive, over_folds, scored_over_folds
from spnmkl.cli.shares import inspect_model, measured_shares
from spnmkl.cli.streams import STANDARD, read_model, read_once, read_spn, target, write_spn, write_table, written
from spnmkl.cli.terminal import Progress, stop_on_interrupt, tell, warnings_as_sentences
from spnmkl.cli.validating import doubtful, validate
from spnmkl.cli.workspace_arguments import server_settings
from spnmkl.data import (
    Choices,
    Dataset,
    Joined,
    Joining,
    SplitSettings,
    Table,
    adjusted_lines,
    contradictions,
    fill_template,
    guess_label,
    headed_table,
    join_tables,
    left_out,
    load_table,
    step_notes,
)
from spnmkl.errors import KernelError, ParameterError, SPNMKLError, StructureError
from spnmkl.launch import run_app
from spnmkl.model_file import save_model
from spnmkl.parameters import CHOSEN
from spnmkl.reporting.sentences import accuracy_sentence, measure_lines, share_lines, weight_lines
from spnmkl.solution import Record
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.structure.templates import TEMPLATES
from spnmkl.training.bring import chosen_dataset, filled_template
from spnmkl.training.choosing import Choosing
from spnmkl.training.default import suited_drawing
from spnmkl.training.held_out import keeping_shares
from spnmkl.training.predict import Predictor
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import Trained, after_a_moment, learn_weights
from spnmkl.wording import counted, name_some

MOST_WEIGHTS = 30
LATER = "spnmkl predict answers them with the weights that are saved"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # β and ≤ are not in every encoding
    try:
        args, more = parsed(sys.argv[1:] if arguments is None else arguments, COMMANDS)
        if args.run is _app:
            return run_app(more, args.workspace, server_settings(args), args.cluster)
        with sent_to_cluster(args):
            code = args.run(args)
        sys.stdout.flush()
        return code
    except SPNMKLError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        # The reader of a pipe has seen enough; what is left must not be flushed into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _refuse(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except MemoryError:
        return _refuse("There is not enough memory; use fewer rows or kernels.")
    except KeyboardInterrupt:
        print("spnmkl: interrupted.", file=sys.stderr)
        return ABORTED


def _refuse(sentence: str) -> int:
    print(f"spnmkl: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _app(args: argparse.Namespace) -> int:
    return run_app()


def _fit(args: argparse.Namespace) -> int:
    read = [] if args.structure in (None, *TEMPLATES) else [args.structure]
    out = target(args.out, *args.data, *read)
    read_once(*args.data, *read)
    settings, choices, split = _asked(args)
    dataset = _training_set(args, choices)
    for note in ungrouped(dataset, args.keep):
        tell(note)
    for note in offered(dataset, split, choices, settings):
        tell(note)
    spn = None if args.structure is None else _structure(args.structure, dataset, choices, split)
    if spn is not None:
        for warning in doubtful(spn, dataset, choices, split, by_evidence=settings.weights == "evidence"):
            tell(warning)
    started = time.perf_counter()
    progress = Progress(sys.stderr, args.progress or (sys.stderr.isatty() and not args.quiet))
    said: list[str] = []
    choosing: Choosing | None = None
    begun = threading.Event()

    def follow(record: Record) -> bool:
        begun.set()
        return progress(record)

    deadline = Deadline(settings.max_time)
    with stop_on_interrupt(begun.is_set) as stop, warnings_as_sentences():
        if spn is None:
            found = by_default(args, dataset, choices, split, settings, deadline, progress, stop.is_set)
            choosing = chosen_by(args, choices, settings, found)
            prepared, settings, said = found.prepared, found.settings, list(found.sentences)
        else:
            prepared = prepare(spn, dataset, choices, split, progress.say, None, args.max_memory, settings.sampled_rows)
            for note in step_notes(dataset, choices, prepared.train):
                tell(note)
        if args.id in dataset.ignored:
            prepared = prepared.identified(dataset, args.id)
        if args.C == "cv" and spn is not None:
            settings, chosen = best_C(prepared, settings, deadline, args.threads, progress)
            said.append(chosen)
        elif deadline.over:
            tell(
                f"Computing the kernels took all of the {args.max_time:g} s of --max-time; allow more to learn weights."
            )
        limited = replace(settings, max_time=deadline.left)
        trained = learn_weights(prepared, limited, follow, args.threads, stop.is_set, warn=True, tick=progress.say)
        left = Deadline(deadline.left, stop.is_set)
        trained = certified(trained, prepared, settings, args, left, progress.say)
        trained, folds = scored_over_folds(trained, prepared, dataset, settings, args, progress, stop.is_set, choosing)
        shares = measured_shares(trained, prepared, dataset, settings, args, progress, stop.is_set)
        trained = replace(trained, model=keeping_shares(trained.model, shares))
        progress.close()
    assert trained.model is not None
    trained.model.set_params(max_time=args.max_time)
    if spn is None:
        trained.model.extra_["chosen"], said = said, [drawn(prepared.spn), *said, *lacking(found)]
    if out is None:
        with written(out) as file:
            save_model(trained.model, file)
    else:
        save_model(trained.model, out)
    if not args.quiet:
        said += _outcome(trained, prepared, args.threads, stop.is_set, args.positive, progress)
        progress.close()
        said += over_folds(folds, args)
        said += [] if folds is None and not len(prepared.test) else about_positive(trained.solution.classes, args)
        said += adjusted_lines(prepared.preparation)
        said += weight_lines(trained.deciding, MOST_WEIGHTS)
        said += [] if shares is None else share_lines(trained.solution.spn, shares)
        n = counted(len(trained.solution.history), "iteration")
        where = "" if out is None else f", saved as {out}"
        said.append(f"{n} in {time.perf_counter() - started:.1f} s{where}")
        print("\n".join(said), file=sys.stderr if out is None else sys.stdout)
    return EXIT_CODES[trained.solution.status]


def _training_set(args: argparse.Namespace, choices: Choices) -> Dataset:
    """The tables to learn from, with notes on them; missing values are refused unless something is chosen for them."""
    dataset = _dataset(args)
    for note in (*left_out(dataset, choices), *mistyped(dataset, args), *contradictions(dataset, choices)):
        tell(note)
    refuse_unfilled(dataset, choices)
    return dataset


def _asked(args: argparse.Namespace) -> tuple[Settings, Choices, SplitSettings]:
    refuse_unsuited(args)
    if args.C is None:
        args.C = "cv" if args.structure is None else 1.0
    settings = Settings(
        C=1.0 if args.C == "cv" else args.C,
        lam=args.lam,
        p=args.p,
        solver=args.solver,
        tol=args.tol,
        max_iter=args.max_iter,
        max_time=args.max_time,
        class_weight=args.class_weight,
        weights=args.weights or "certified",
        scoring=args.scoring,
        approximation=args.approximation,
        n_components=args.components,
        sample_size=args.sample_rows,
    )
    return settings, asked_choices(args), SplitSettings(args.test_share or 0.0, args.seed)


def _outcome(
    trained: Trained,
    prepared: Prepared,
    threads: int | None,
    stopped: Callable[[], bool],
    positive: str | None,
    progress: Progress,
) -> list[str]:
    late = after_a_moment(stopped)
    train = trained.train_scores(prepared, threads, progress.say, late)
    right = accuracy_sentence("training accuracy", train.predicted, train.y)
    unanswered = f"{train.sentence('training')}; {LATER}"
    lines = [*proved(trained), right if train.scored else unanswered]
    if prepared.whole is not None:  # of which what is proved tells
        lines.pop()
    if len(prepared.test):
        test = trained.test_scores(prepared, threads, progress.say, late)
        lines += [test.sentence(), *measure_lines(test.measures(positive) if test.scored else [])]
    return lines


def _dataset(args: argparse.Namespace, say: bool = True) -> Dataset:
    """The tables as one data set; what was left out is said on stderr."""
    found, id_column = _joined(args)
    ignored = [*args.ignore, *filter(None, [id_column])]
    kept, columns = getattr(args, "keep", []), set(found.frame.columns)
    adjust = [name for given in args.adjust for name in ([given] if given in columns else given.split(","))]
    name = Path(args.data[0]).name if len(args.data) == 1 else counted(len(args.data), "file")
    dataset = chosen_dataset(name, found, args.label, group=args.group, ignored=ignored, kept=kept, adjust=adjust)
    for column in dataset.ignored if say else ():
        if column not in ignored:
            tell(f"Column {column!r} only tells rows apart and is left out; --keep it to use it.")
    return dataset


def _joined(args: argparse.Namespace, text_columns: Sequence[str] = ()) -> tuple[Joined, str | None]:
    """The table, or several joined, and the column by which they were."""
    joining = Joining("rows" if args.by_order else "id", args.id)
    found, id_column = join_tables([_table(given, text_columns, args.skip_lines) for given in args.data], joining)
    for note in found.notes:
        tell(note)
    return found, id_column


def _table(given: str, text_columns: Sequence[str], skip: int | None) -> Table:
    if given == STANDARD:
        return headed_table("stdin", sys.stdin.buffer.read(), text_columns, skip)
    return load_table(given, text_columns, skip)


def _structure(given: str, dataset: Dataset, choices: Choices, split: SplitSettings) -> SPN:
    """A structure file, or a template by name filled with the columns."""
    if given not in {*TEMPLATES, STANDARD} and not Path(given).exists() and Path(given).suffix != ".json":
        raise StructureError(f"There is no file or template {given!r}; the templates are {', '.join(TEMPLATES)}.")
    spn = filled_template(given, dataset, choices, split) if given in TEMPLATES else read_spn(given)
    _refuse_matrices(spn)
    return spn


def _refuse_matrices(spn: SPN) -> None:
    for leaf in spn.kernels:
        if spn.spec(leaf).kernel == "precomputed":
            raise KernelError(
                f"Leaf {spn.label(leaf)!r} is precomputed, but a model that predicts new rows computes its kernels "
                "from columns; use such kernels, or pass matrices to spnmkl.solve in Python."
            )


def _predict(args: argparse.Namespace) -> int:
    out = target(args.out or STANDARD, *args.data, args.model)
    read_once(args.model, *args.data)
    predictor = Predictor.of_model(Path(args.model).name, read_model(args.model))
    if args.probabilities and not predictor.probability_names:
        raise ParameterError(
            "The model has no probabilities; fit it with --probabilities or --nested, or leave --probabilities out."
        )
    found, id_column = _joined(args, predictor.needed.text)
    match = predictor.match(found.frame, id_column=id_column)
    predictions = predictor.predict(match)
    for note in (*predictions.notes, *([predictions.against] if args.probabilities and predictions.against else [])):
        tell(note)
    columns = [*match.ids, "prediction", *(predictor.score_names if args.scores else ())]
    columns += predictor.probability_names if args.probabilities else ()
    write_table(predictions.table[list(dict.fromkeys(columns))], out, args.exact)
    return 0


def _on_folds(args: argparse.Namespace) -> int:
    from spnmkl.cli import comparing, importance  # with the charts, for which no other command should wait

    outputs, run = {
        "importance": (importance.outputs, importance.importance),
        "compare": (comparing.outputs, comparing.compare),
    }[args.command]
    outputs(args)
    read_once(*args.data, *filter(None, [args.structure]))
    dataset, choices = _held_out_set(args)
    everything = SplitSettings(0.0)
    if args.structure is None:
        spn = suited_drawing(dataset, choices, everything)
        _refuse_matrices(spn)
    else:
        spn = _structure(args.structure, dataset, choices, everything)
    args.weights = args.weights or ("certified" if args.structure is not None else CHOSEN)
    return run(args, dataset, spn, choices)


def _suggest(args: argparse.Namespace) -> int:
    from spnmkl.cli.suggesting import suggest  # with what a search needs, for which no other command should wait

    target(args.out or STANDARD, *args.data)
    read_once(*args.data)
    return suggest(args, *_held_out_set(args))


def _held_out_set(args: argparse.Namespace) -> tuple[Dataset, Choices]:
    """The tables to learn from where rows are held out: which belong together must be said."""
    choices = asked_choices(args)
    dataset = _training_set(args, choices)
    refuse_ungrouped(dataset, args.keep)
    for note in step_notes(dataset.labelled_table, choices):
        tell(note)
    return dataset, choices


def _validate(args: argparse.Namespace) -> int:
    def refuse(spn: SPN, dataset: Dataset, choices: Choices) -> None:
        _refuse_matrices(spn)
        if dataset.label is not None:
            refuse_unfilled(dataset, choices)

    return validate(args, lambda: (_dataset(args), asked_choices(args)), refuse)


def _template(args: argparse.Namespace) -> int:
    if args.list:
        for template in TEMPLATES.values():
            print(f"{template.name:18} {template.description}")
        return 0
    if args.name is None:
        raise ParameterError(f"Name a template, one of {', '.join(TEMPLATES)}; or pass --list.")
    out = target(args.out or STANDARD, *(args.columns or []))
    spn = _filled(args)
    write_spn(spn, out)
    if out is not None:
        print(f"{spn!r} saved as {out}")
    return 0


def _filled(args: argparse.Namespace) -> SPN:
    if args.columns is None:
        return fill_template(args.name)
    args.data = args.columns
    read_once(*args.data)
    dataset = _dataset(args, say=False)
    if args.label is None:
        columns = dataset.frame[list(dataset.features)]
        label = None if args.no_label else guess_label(columns)
        if label is not None:
            raise ParameterError(
                f"Column {label!r} looks like the label, which kernels must not see; pass --label "
                f"{shlex.quote(label)}, or --no-label if it is none."
            )
        tell(f"No label was named; kernels see {counted(columns.shape[1], 'column')}: {name_some(columns.columns)}.")
    return fill_template(args.name, dataset.numeric, dataset.categorical, dataset.feature_views or None)


def _workspace(args: argparse.Namespace) -> int:
    from spnmkl.cli.workspace import workspace  # with a database, for which no other command should wait

    return workspace(args)


COMMANDS = {
    "app": _app,
    "fit": _fit,
    "predict": _predict,
    "inspect": inspect_model,
    "importance": _on_folds,
    "compare": _on_folds,
    "suggest": _suggest,
    "validate": _validate,
    "template": _template,
    "workspace": _workspace,
    "cluster": write_deployment,
}
