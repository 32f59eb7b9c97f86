"""Kills what saves the app's work, again and again, and looks whether anything is lost: ``python scripts/crash.py``.

A child process draws, uploads, chooses, trains, renames and removes as pages of the app would, and has it saved by
`spnmkl.ui.state.keeping`, as the server does. Before each step it tells what there will be, and after it, what was
acknowledged as saved. It is killed (SIGKILL) at a random moment. What is then on disk must be what some step made, and
none before the last acknowledged one; the database must be sound, and no file may be missing or damaged. The workspace
stays the same from kill to kill. With ``--servers 2``, two children work on one workspace, and are killed one after the
other. Trainings run in processes of their own, as the server's do; none may outlive the one that asked for it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from reliability import circumstances, put
from sqlalchemy import text

from spnmkl.data import Dataset, load_sample
from spnmkl.precompile import prepare
from spnmkl.structure.layout import arranged
from spnmkl.ui.state import apart
from spnmkl.ui.state.drawing import Drawing
from spnmkl.ui.state.keeping import Keeper
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.store import Store
from spnmkl.ui.state.uploaded_files import KeptFile
from spnmkl.ui.state.workspace import Workspace
from spnmkl.workers import Nursery, forking
from spnmkl.workers.nursery import Forker
from spnmkl.workspace.forms import drawing_row
from spnmkl.workspace.place import Place
from spnmkl.workspace.store import WorkspaceStore

LONGEST = 1.5  # seconds after the first acknowledgement within which a child is killed
PATIENCE = 60.0


@dataclass(frozen=True)
class Kill:
    """What was found after one child was killed."""

    steps: int
    acknowledged: int
    found: int
    cut: int


def described(work: Workspace) -> str:
    """All that must come back, in one line."""
    book = work.trainer.book
    told = {
        "drawing": drawing_row(work.drawing.spn)["digest"],
        "edit": work.drawing.acknowledged,
        "data": [work.dataset.name, *map(int, work.dataset.frame.shape)],
        "missing": work.choices.missing,
        "split": [work.split.test_share, work.split.seed],
        "C": work.trainer.settings.C,
        "files": [[file.name, len(file.data)] for file in work.files.kept],
        "runs": [[run.name, repr(sum(run.solution.beta.values())), run.name in book.tasks] for run in book.runs],
    }
    return json.dumps(told)


class Child:
    """Does what pages do, step by step, and tells of it."""

    def __init__(self, place: Place, token: str, seed: int, pipe: int) -> None:
        self.random, self.token, self.pipe = random.Random(seed), token, pipe
        self.store = Store()
        self.keeper = Keeper(lambda: WorkspaceStore(place), self.store)
        self.work = self.keeper.recall(token) or _fresh()
        self.work.keeping.cut = ()  # as by Dismiss
        self.store.put(token, self.work, "")
        self.number = int(self.work.drawing.acknowledged.rpartition("/")[2])
        self.step = 0

    def tell(self, kind: str, words: str = "") -> None:
        os.write(self.pipe, f"{kind} {self.step} {words}\n".encode())

    def run(self) -> None:
        steps = [self.draw] * 5 + [self.upload, self.choose, self.train, self.rename, self.remove]
        while True:
            self.step += 1
            self.random.choice(steps)()
            self.tell("will", described(self.work))
            self.keeper.note(self.token, self.work)
            if self.random.random() < 0.7:  # at other times the next step comes before this one is saved
                if not self.keeper.wait(self.work.keeping, PATIENCE):
                    raise AssertionError(self.work.keeping.failure)
                self.tell("done")

    def draw(self) -> None:
        drawing = self.work.drawing
        if self.random.random() < 0.2:
            drawing.push(arranged(opening_structure(self.work.dataset)), "anew", fit=True)
            return
        nodes = drawing.spn.to_dict()["nodes"]
        self.number += 1
        x, y = self.random.random(), self.random.random()
        added = {"id": f"n{self.number}", "kind": "sum", "x": x, "y": y}
        message = {"page": "crash", "sequence": self.number, "revision": drawing.revision, "closed": []}
        drawing.receive({**message, "nodes": [*nodes, added], "edges": drawing.spn.to_dict()["edges"]})

    def upload(self) -> None:
        n, seed = self.random.randint(20, 2000), self.random.randint(0, 10**6)
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"]).assign(
            y=np.array(["u", "v"])[np.arange(n) % 2]
        )
        self.work.files.ids = (str(seed),)
        self.work.files.kept = (KeptFile(str(seed), f"{seed}.csv", frame.to_csv(index=False).encode()),)
        self.work.upload(Dataset(f"table {seed}", frame, "y", views={"abc": ("a", "b", "c")}), (str(seed), None))

    def choose(self) -> None:
        self.work.choices = replace(self.work.choices, missing=self.random.choice(["mean", "median", "refuse"]))
        self.work.split = replace(self.work.split, seed=self.random.randint(0, 99))
        self.work.trainer.take_settings(replace(self.work.trainer.settings, C=1 + self.random.random()))

    def train(self) -> None:
        """Watched as a page does, so that its history is saved while it goes on."""
        trainer = self.work.trainer
        small = self.work.dataset if len(self.work.dataset.frame) < 400 else load_sample("wine")
        task = replace(self.work.task, dataset=small, spn=opening_structure(small))
        activity = trainer.start("train", task, trainer.settings, lambda: True)
        while not activity.job.join(0.02):
            self.keeper.note(self.token, self.work, refresh=True)
        trainer.collect()
        assert trainer.failure is None, trainer.failure

    def rename(self) -> None:
        book = self.work.trainer.book
        if book.runs:
            book.rename(self.random.choice(book.runs).name, f"called {self.random.randint(0, 10**9)}")

    def remove(self) -> None:
        book = self.work.trainer.book
        if len(book.runs) > 3:
            book.remove(book.runs[0].name)


def _fresh() -> Workspace:
    dataset = load_sample("wine")
    return Workspace(Drawing(arranged(opening_structure(dataset))), dataset)


def nursery() -> tuple[int, Nursery]:
    """The process that forks, itself forked from this one, which has all loaded; as `Nursery.start`, but at once."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        try:
            forking.main(theirs, [])
        finally:
            os._exit(0)
    theirs.close()
    made = Nursery()
    made._forker = forker = Forker(ours)
    forker.wait()
    made.ready = True
    return pid, made


def forked(place: Place, token: str, seed: int) -> tuple[int, int, int]:
    """A child at work, the process that forks for it, and the end of the pipe that it tells into."""
    ours, its = os.pipe()
    forker, made = nursery()
    pid = os.fork()
    if pid:
        os.close(its)
        made.stop()
        return pid, forker, ours
    try:
        os.close(ours)
        apart.NURSERY = made
        Child(place, token, seed, its).run()
    except BaseException:
        os.write(its, f"failed 0 {json.dumps(traceback.format_exc())}\n".encode())
    finally:
        os._exit(1)


def heard(pipe: int, buffer: bytearray, until: float) -> None:
    """Read what the child tells until a moment."""
    os.set_blocking(pipe, False)
    while (left := until - time.monotonic()) > 0:
        try:
            part = os.read(pipe, 1 << 16)
            if not part:
                return
            buffer += part
        except BlockingIOError:
            time.sleep(min(left, 0.005))


def killed(place: Place, tokens: list[str], seed: int) -> list[Kill]:
    """Let children work on a workspace, kill each at a random moment, and look at what is there."""
    moment = random.Random(seed)
    children = {token: forked(place, token, seed * 10 + k) for k, token in enumerate(tokens)}
    told = {token: bytearray() for token in tokens}
    for token, (pid, forker, pipe) in children.items():
        limit = time.monotonic() + PATIENCE
        while b"done" not in told[token] and b"failed" not in told[token] and time.monotonic() < limit:
            heard(pipe, told[token], time.monotonic() + 0.05)
        heard(pipe, told[token], time.monotonic() + moment.random() * LONGEST)
        works = psutil.Process(forker).children()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.waitpid(forker, 0)
        left = psutil.wait_procs(works, PATIENCE)[1]
        assert not left, f"{len(left)} processes of a server that was killed go on"
        heard(pipe, told[token], time.monotonic() + 0.1)
        os.close(pipe)
    return [looked_at(place, token, told[token].decode()) for token in tokens]


def looked_at(place: Place, token: str, told: str) -> Kill:
    """Hold what is on disk against what the child told; an AssertionError says what is lost."""
    lines = [line.split(" ", 2) for line in told.split("\n")[:-1]]  # the last one may be cut
    wrong = [json.loads(line[2]) for line in lines if line[0] == "failed"]
    assert not wrong, wrong[0]
    meant = {int(step): words for kind, step, words in lines if kind == "will"}
    done = max((int(step) for kind, step, _ in lines if kind == "done"), default=0)
    keeper = Keeper(lambda: WorkspaceStore(place), Store())
    try:
        check_disk(keeper.disk())
        work = keeper.recall(token)
        assert work is not None or not done, "nothing came back"
        if work is None:
            return Kill(len(meant), 0, 0, 0)
        assert work.keeping.lost == (), work.keeping.lost
        found = described(work)
        steps = [step for step, words in meant.items() if words == found]
        assert steps and max(steps) >= done, (
            f"step {done} was acknowledged, found {steps or found}; of {meant.get(done)}"
        )
        return Kill(len(meant), done, max(steps), len(work.keeping.cut))
    finally:
        keeper.close()


def check_disk(disk: WorkspaceStore) -> None:
    """The database is sound, and every file that it names is there and whole."""
    with disk._database.reading() as connection:
        if disk._database.is_sqlite:
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
            assert not connection.execute(text("PRAGMA foreign_key_check")).all()
        names: list[Any] = []
        for table, column in (("dataset", "table_file"), ("run", "file"), ("upload", "file")):
            names += connection.execute(text(f"SELECT {column} FROM {table}")).scalars().all()
    for name in set(filter(None, names)):
        disk._files.read(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="write the counts into docs/reliability.md")
    asked = parser.parse_args()
    acknowledged = cut = steps = 0
    prepare()  # once here, and not in every process that trains
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), os.environ.get("SPNMKL_DATABASE_URL", ""))
        began = time.monotonic()
        for k in range(0, asked.kills, asked.servers):
            # A tab works on for ten kills, and then another one begins.
            tokens = [f"{k // (10 * asked.servers):030x}{s:02x}" for s in range(asked.servers)]
            for kill in killed(place, tokens, asked.seed + k):
                acknowledged, cut, steps = acknowledged + kill.acknowledged, cut + kill.cut, steps + kill.steps
        seconds = time.monotonic() - began
    said = (
        f"{asked.kills} kills in {steps:,} steps; what was acknowledged ({acknowledged:,} steps) came back every time, "
        f"and {cut} trainings were cut off, with their history; {seconds:.0f} s"
    )
    print(said)
    if asked.page:
        command = f"`python scripts/crash.py --kills {asked.kills} --servers {asked.servers} --seed {asked.seed}`"
        put(f"crash {asked.servers}", f"{command}: {said} {circumstances()}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
