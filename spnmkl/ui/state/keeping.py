"""Saves what tabs work on behind their backs, on one thread, and brings it back (no Streamlit here).

A page notes what there is when it has been drawn; where that differs from what was noted before, it is handed to the
thread, which writes it and then says so. Nothing is called saved before it is on disk.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from spnmkl.data import Dataset, SplitSettings, load_sample
from spnmkl.errors import SPNMKLError, WorkspaceError
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.structure.text import one_line
from spnmkl.training.settings import Settings
from spnmkl.ui.state import jobs
from spnmkl.ui.state.drawing import check_size
from spnmkl.ui.state.kept import Keeping, Keys
from spnmkl.ui.state.kept_forms import state_of, work_of
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.store import Store
from spnmkl.ui.state.workspace import SUGGESTED, Workspace
from spnmkl.workspace.quotas import amount
from spnmkl.workspace.state import ProjectState, Saved
from spnmkl.workspace.store import Overtaken, WorkspaceStore

LOOK_SECONDS = 1.0  # between two looks at what is going on
BEAT_SECONDS = 20.0
TIDY_SECONDS = 3600.0
LEFT = "SPNMKL_LEFT_SECONDS"
LEFT_SECONDS = amount(os.environ.get(LEFT) or "600", LEFT)  # after which a tab that was left is known from disk alone
RETRY_SECONDS = 5.0  # after which a workspace that could not be written is tried again
DEFAULT_SAMPLE = "breast_cancer"
_LOG = logging.getLogger("spnmkl")
_APOLOGY = "Saving failed; the reason stands in the server's log."


@dataclass
class _Note:
    """What waits to be written of one tab."""

    keeping: Keeping
    state: ProjectState
    token: str
    number: int
    versions: list[SPN]


class Keeper:
    """Saves the work of all tabs of a server.

    Parameters
    ----------
    opened : callable
        Opens the workspace; asked when there is something to save.
    store : Store
        The tabs that are open.
    """

    def __init__(self, opened: Callable[[], WorkspaceStore], store: Store) -> None:
        self._opened, self._store = opened, store
        self._disk: WorkspaceStore | None = None
        self._failed: tuple[float, str] | None = None
        self._opening = threading.Lock()
        self._changed = threading.Condition()
        self._notes: dict[int, _Note] = {}
        self._thread: threading.Thread | None = None
        self._beaten = self._tidied = 0.0
        self._ended = False
        self.is_active: Callable[[str], bool] = lambda session: True

    def disk(self) -> WorkspaceStore:
        """The workspace; opened the first time, and not more often than every few seconds where that fails."""
        with self._opening:
            if self._disk is None:
                if self._failed is not None and time.monotonic() - self._failed[0] < RETRY_SECONDS:
                    raise WorkspaceError(self._failed[1])
                try:
                    self._disk = self._opened()
                    self._disk.upkeep.beat()
                except SPNMKLError as error:
                    self._failed = time.monotonic(), str(error)
                    raise
            return self._disk

    def note(
        self, token: str, work: Workspace, owner: str | None = None, browser: str = "", refresh: bool = False
    ) -> None:
        """Take what a tab works on now; written soon, if it is not what was taken before.

        Without an owner it is whose it was when a page noted it.
        """
        keeping = work.keeping
        if owner is not None:
            keeping.owner, keeping.browser = owner, browser
        state = state_of(work, keeping.keys, keeping.cut, refresh)
        if keeping.saved is None and keeping.seen is None and untouched(work):
            return
        if keeping.seen is not None and _alike(keeping.seen, state) and not keeping.failure:
            return
        with self._changed:
            keeping.seen = state
            keeping.noted += 1
            waiting = self._notes.get(id(keeping))
            versions = [*(waiting.versions if waiting else ()), state.spn]
            self._notes[id(keeping)] = _Note(keeping, state, token, keeping.noted, versions)
            self._start()
            self._changed.notify_all()

    def wait(self, keeping: Keeping, seconds: float) -> bool:
        """Wait until what was noted is on disk, or could not be written; whether it is on disk."""
        with self._changed:
            self._changed.wait_for(lambda: not keeping.pending or id(keeping) not in self._notes, seconds)
            return not keeping.pending

    def recall(self, token: str, owner: str | None = None, browser: str = "") -> Workspace | None:
        """What a tab had open before the server was started; None where nothing is known, or known of others."""
        try:
            disk = self.disk()
            project = disk.upkeep.visited(token, browser)
            return None if project is None else self.open(project, owner, same_tab=True)
        except Exception:  # a tab that cannot have it back must open all the same
            _LOG.exception("What a tab had open cannot be read")
            return None

    def open(self, project: str, owner: str | None = None, same_tab: bool = False) -> Workspace:
        """A project, of this owner where one is given, in the state that it was saved in."""
        loaded = self.disk().load(project, owner=owner)
        state, keys = loaded.saved.state, Keys()
        work = work_of(state, keys, _default_data(), same_tab)
        keeping = work.keeping = Keeping(loaded.saved, loaded.name, lost=loaded.lost, cut=state.attempts, keys=keys)
        keeping.owner = owner or ""
        keeping.at, keeping.seen = time.time(), state
        return work

    def add(self, state: ProjectState, name: str, owner: str = "") -> str:
        """Keep a project that comes from elsewhere; returns what it is called here."""
        check_size(state.spn)
        name = _free_name(self.disk(), owner, one_line(name).strip() or _data_name(state))
        self.disk().save(None, state, name=name, owner=owner)
        return name

    def stale(self, work: Workspace) -> bool:
        """Whether another server saved the project after this one."""
        keeping = work.keeping
        if keeping.saved is None or keeping.pending:
            return False
        try:
            return self.disk().upkeep.revision(keeping.saved.id) not in (None, keeping.saved.revision)
        except SPNMKLError:
            return False

    def close(self, seconds: float = 5.0) -> None:
        """Write what waits, and once more what could not be written before, and end."""
        self._note_again()
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)
        for _, work, _ in self._store.living():
            if work.keeping.pending:
                _LOG.error("The last changes of the project %r are not saved.", work.keeping.name or work.dataset.name)
        if self._disk is not None:
            self._disk.close()
            self._disk = None

    def _note_again(self) -> None:
        """What could not be written: its page would have had it tried again a few seconds later."""
        try:
            for token, work, _ in self._store.living():
                if work.keeping.failure:
                    self.note(token, work)
        except Exception:  # what waits is to be written all the same
            _LOG.exception("Work that was not saved cannot be saved")

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="spnmkl-keeper", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        looked = time.monotonic()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._notes or self._ended, LOOK_SECONDS)
                notes = list(self._notes.values())
                if self._ended and not notes:
                    return
            for note in notes:
                self._write(note)
            if time.monotonic() - looked >= LOOK_SECONDS and not self._ended:
                looked = time.monotonic()
                self._look()

    def _write(self, note: _Note) -> None:
        keeping, wrong, saved = note.keeping, "", None
        try:
            saved = self._saved(note)
        except SPNMKLError as error:
            wrong = str(error)
        except Exception:
            _LOG.exception("Saving failed")
            wrong = _APOLOGY
        with self._changed:
            keeping.failure = wrong
            if saved is not None:
                epoch, pushes, acknowledged, *_ = note.state.more["canvas"]
                keeping.saved, keeping.remarks, keeping.at = saved, saved.remarks, time.time()
                keeping.done, keeping.canvas = note.number, (epoch, pushes, acknowledged)
            if (waiting := self._notes.get(id(keeping))) is not None:
                if waiting.number == note.number:
                    del self._notes[id(keeping)]
                elif saved is not None:
                    waiting.versions = waiting.versions[len(note.versions) :]
            self._changed.notify_all()

    def _saved(self, note: _Note) -> Saved:
        disk, keeping = self.disk(), note.keeping
        known = {
            "versions": note.versions,
            "visit": note.token or None,
            "owner": keeping.owner,
            "browser": keeping.browser,
        }
        if keeping.saved is not None:
            self._follow_data(disk, keeping, keeping.saved, note.state)
            try:
                return disk.save(keeping.saved, note.state, **known)  # type: ignore[arg-type]
            except Overtaken:
                keeping.lost = (
                    f"Another tab or server changed the project {keeping.name!r} meanwhile; this goes on as a copy.",
                )
                keeping.name = f"{keeping.name} (copy)"
                note.state = _with_new_keys(note.state, keeping.keys)
        if not keeping.name:
            keeping.name = keeping.named_after = _data_name(note.state)
        keeping.name = _free_name(disk, keeping.owner, keeping.name)
        return disk.save(None, note.state, name=keeping.name, **known)  # type: ignore[arg-type]

    def _follow_data(self, disk: WorkspaceStore, keeping: Keeping, saved: Saved, state: ProjectState) -> None:
        """A project is called after the data that came in the place of others before anything was learned of these."""
        data = _data_name(state)
        if keeping.named_after and data != keeping.named_after and not state.runs:
            name = _free_name(disk, keeping.owner, data)
            keeping.name, keeping.named_after = disk.catalog.rename(saved.id, name, owner=keeping.owner), data

    def _look(self) -> None:
        """What goes on without a page: trainings report, those whose tab is gone are collected, time passes."""
        try:
            for token, work, session in self._store.living():
                here = self.is_active(session)
                if not here:
                    work.collect()
                if work.trainer.working is not None or not here:
                    self.note(token, work, refresh=True)
                if not here and work.trainer.working is None and not work.keeping.pending:
                    self._store.remove_unused(token, LEFT_SECONDS)
            now = time.monotonic()
            if self._disk is not None and now - self._beaten > BEAT_SECONDS:
                self._beaten = now
                self._disk.admission.beat(jobs.entered)
            if self._disk is not None and now - self._tidied > TIDY_SECONDS:
                self._tidied = now
                self._disk.upkeep.tidy()
        except Exception:
            _LOG.exception("Looking after the tabs failed")


def untouched(work: Workspace) -> bool:
    """Whether nothing was done yet that anybody would miss."""
    drawing, trainer = work.drawing, work.trainer
    opening = unplaced(opening_structure(work.dataset))
    same = work.loaded and work.missing is None and work.dataset.name == DEFAULT_SAMPLE and not work.files.ids
    idle = not trainer.book.runs and trainer.working is None and trainer.contest is None
    as_opened = drawing.acknowledged == "/0" and unplaced(drawing.spn) == opening
    chosen = (work.choices, work.split, trainer.settings)
    return same and idle and as_opened and chosen == (SUGGESTED, SplitSettings(), Settings())


def _alike(one: ProjectState, other: ProjectState) -> bool:
    """Whether there is nothing new to write."""
    runs = zip(one.runs, other.runs, strict=False)
    attempts = zip(one.attempts, other.attempts, strict=False)
    return (
        one.spn is other.spn
        and one.dataset is other.dataset
        and one.missing is other.missing
        and (one.choices, one.split, one.settings) == (other.choices, other.split, other.settings)
        and (one.closed, one.chosen, one.more) == (other.closed, other.chosen, other.more)
        and len(one.runs) == len(other.runs)
        and all(a.run is b.run and a.dataset is b.dataset for a, b in runs)
        and len(one.attempts) == len(other.attempts)
        and all(a.attempt is b.attempt for a, b in attempts)
        and _same_contest(one, other)
        and len(one.findings) == len(other.findings)
        and all(a is b for a, b in zip(one.findings, other.findings, strict=True))
        and one.uploads == other.uploads
    )


def _same_contest(one: ProjectState, other: ProjectState) -> bool:
    a, b = one.comparison, other.comparison
    if a is None or b is None:
        return a is b
    results = (a.compared.contest.results, b.compared.contest.results)
    return a.key == b.key and (results[0] is results[1] or len(results[0]) == len(results[1]))


def _with_new_keys(state: ProjectState, keys: Keys) -> ProjectState:
    """The same work under other keys, for a project of its own."""
    runs = tuple(replace(kept, key=uuid.uuid4().hex) for kept in state.runs)
    keys.runs = {id(kept.run.solution): (kept.run.solution, kept.key) for kept in runs}
    comparison = state.comparison and replace(state.comparison, key=uuid.uuid4().hex)
    keys.contest = (keys.contest[0], comparison.key) if comparison else keys.contest
    return replace(state, runs=runs, comparison=comparison, attempts=())


def _data_name(state: ProjectState) -> str:
    return state.dataset.name if state.dataset is not None else state.missing.name if state.missing else "Untitled"


def _free_name(disk: WorkspaceStore, owner: str, name: str) -> str:
    """That name, or with a number where the owner has one such already."""
    taken = {info.name for info in disk.catalog.projects(owner=owner)}
    numbered = (f"{name[:70]} {k}" for k in range(2, len(taken) + 3))
    return name[:80] if name[:80] not in taken else next(free for free in numbered if free not in taken)


def _default_data() -> Dataset:
    return load_sample(DEFAULT_SAMPLE)
