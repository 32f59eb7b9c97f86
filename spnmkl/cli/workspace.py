"""`spnmkl workspace`: the projects that the app keeps, listed, exported, imported and trained; people and the log."""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from itertools import count
from pathlib import Path

import pandas as pd

from spnmkl.cli.exits import EXIT_CODES
from spnmkl.cli.streams import target, written
from spnmkl.cli.terminal import Progress, stop_on_interrupt, warnings_as_sentences
from spnmkl.data.guarded import guarded_csv
from spnmkl.errors import DataError, SPNMKLError
from spnmkl.reporting.sentences import certificate_sentence
from spnmkl.structure.text import one_line, without_control
from spnmkl.training.prepared import prepare
from spnmkl.training.train import train
from spnmkl.workspace.exchange import exported, imported, left_out
from spnmkl.workspace.state import KeptRun, ProjectInfo, ProjectState
from spnmkl.workspace.store import Overtaken, WorkspaceStore

TRIES = 5  # against an app that saves the same project meanwhile


def workspace(args: argparse.Namespace) -> int:
    """Run one of the commands."""
    store = WorkspaceStore.opened(args.workspace)
    try:
        return _DOING[args.what](store, args)
    finally:
        store.close()


def _delete(store: WorkspaceStore, args: argparse.Namespace) -> int:
    info = store.catalog.named(args.project, deleted=args.for_good)
    if args.for_good:
        store.catalog.remove(info.id)
    else:
        store.catalog.delete(info.id)
    return 0


def _restore(store: WorkspaceStore, args: argparse.Namespace) -> int:
    store.catalog.restore(store.catalog.named(args.project, deleted=True).id)
    return 0


def _list(store: WorkspaceStore, args: argparse.Namespace) -> int:
    found = store.catalog.projects(" ".join(args.search), deleted=args.deleted)
    if args.json:
        print(json.dumps([asdict(info) for info in found], ensure_ascii=False, indent=1))
        return 0
    for info in found:
        print(_line(info))
    if not found:
        print(f"No project in {store.place.shown}" + (" has these words." if args.search else "."), file=sys.stderr)
    return 0


def _line(info: ProjectInfo) -> str:
    changed = datetime.fromtimestamp(info.changed).strftime("%Y-%m-%d %H:%M")
    tags = "".join(f" #{tag}" for tag in info.tags)
    data = f"{info.dataset_name}, {info.n_rows:,} rows" if info.dataset_name else "no data"
    counts = f"({data}; runs {info.n_runs}, versions {info.n_versions})"
    return without_control(f"{info.id[:8]}  {changed}  {info.name}{tags}  {counts}")  # the data may be of others


def _people(store: WorkspaceStore, args: argparse.Namespace) -> int:
    for member in store.people.members():
        last = datetime.fromtimestamp(member.last).strftime("%Y-%m-%d %H:%M")
        kept = f"{member.usage.bytes / 1e6:,.1f} MB, {member.usage.rows:,} rows, projects {member.n_projects}"
        print(f"{member.id}  {last}  {member.name or 'a visitor'}  ({kept}, runs {member.n_runs})")
    return 0


def _audit(store: WorkspaceStore, args: argparse.Namespace) -> int:
    since = time.time() - 86_400 * args.days if args.days else 0.0
    lines = [
        (
            datetime.fromtimestamp(event.at).isoformat(" ", "seconds"),
            event.who,
            event.name,
            event.what,
            json.dumps(event.about),
        )
        for event in store.audit.read(since=since)
    ]
    print(guarded_csv(pd.DataFrame(lines, columns=["when", "id", "name", "what", "about"])), end="")
    return 0


def _export(store: WorkspaceStore, args: argparse.Namespace) -> int:
    out = target(args.out)
    loaded = store.load(store.catalog.named(args.project).id)
    data = exported(loaded.saved.state, not args.without_data)
    with written(out) as file:
        file.write_bytes(data)
    for said in (*loaded.lost, *left_out(loaded.saved.state)):
        print(f"spnmkl: {said}", file=sys.stderr)
    return 0


def _import(store: WorkspaceStore, args: argparse.Namespace) -> int:
    path = Path(args.file)
    state = imported(path.read_bytes(), path.name)
    name = one_line(args.name or path.name.removesuffix(".zip").removesuffix(".project"))
    saved = store.save(None, state, name=name)
    print(f"{saved.id[:8]}  {name}")
    return 0


def _run(store: WorkspaceStore, args: argparse.Namespace) -> int:
    id = store.catalog.named(args.project).id
    loaded = store.load(id)
    state, dataset = loaded.saved.state, loaded.saved.state.dataset
    for lost in loaded.lost:
        print(f"spnmkl: {lost}", file=sys.stderr)
    if dataset is None:
        raise DataError(state.missing.missing_sentence if state.missing else "The project has no data to train on.")
    asked = {name: value for name, value in (("C", args.C), ("max_time", args.max_time)) if value is not None}
    settings = replace(state.settings, **asked)
    progress = Progress(sys.stderr, sys.stderr.isatty() and not args.quiet)
    with stop_on_interrupt(lambda: True) as stop, warnings_as_sentences():
        prepared = prepare(state.spn, dataset, state.choices, state.split, progress.say)
        run = train(prepared, settings, progress, stop=stop.is_set)
        progress.close()
    key, name = uuid.uuid4().hex, ""

    def with_run(now: ProjectState) -> ProjectState:
        nonlocal name
        taken = {kept.run.name for kept in now.runs} | set(now.more.get("gone", ()))
        name = next(free for k in count(1) if (free := f"Run {k}") not in taken)
        return replace(now, runs=(*now.runs, KeptRun(key, replace(run, name=name, spn=state.spn), now.dataset)))

    _saved(store, id, with_run)
    if not args.quiet:
        print(f"{name}: {certificate_sentence(run.solution)}")
    return EXIT_CODES[run.solution.status]


_DOING: dict[str, Callable[[WorkspaceStore, argparse.Namespace], int]] = {
    "list": _list,
    "people": _people,
    "audit": _audit,
    "export": _export,
    "import": _import,
    "run": _run,
    "delete": _delete,
    "restore": _restore,
}


def _saved(store: WorkspaceStore, id: str, changed: Callable[[ProjectState], ProjectState]) -> None:
    """Change a project that an app may save at the same time."""
    for k in range(TRIES):
        saved = store.load(id).saved
        try:
            store.save(saved, changed(saved.state))
            return
        except Overtaken:
            time.sleep(0.2 * k)
    raise SPNMKLError("The project is changed all the time; close the app that has it open, and try again.")
