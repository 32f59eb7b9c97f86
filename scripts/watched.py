"""How much longer a training takes in the app than alone: ``python scripts/watched.py``.

By turns, the same training is done in this process and then as the app does it: in a process of the tab, with its
kernels, while its records are read as a page reads them. *New* has no process yet when it begins, as after the server
was started; *ready* has one from the training before, which computes its kernels anew. Seconds are those of the wall,
from the click to the result, without what draws the page. Ratios within one run are the result; those of processor
seconds, of the server and the process together, hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np
import pandas as pd
import psutil
from reliability import circumstances, put, table

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.precompile import prepare as load_compiled
from spnmkl.structure import Kernel, templates
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.apart import NURSERY
from spnmkl.ui.state.task import Task

LOOK_SECONDS = 1.0  # between two looks of a page
LONG_SECONDS, MOST_RATIO, MOST_MORE = 5.0, 1.1, 0.3
CASES = {
    "300 rows, 10 kernels": (300, 10, Settings()),
    "1,000 rows, 25 kernels": (1000, 25, Settings()),
    "5,500 rows, 25 kernels": (5500, 25, Settings(C=100.0, tol=1e-6)),
}


Seconds = tuple[float, float]  # of the wall, and of the processor


def task_of(rows: int, kernels: int, seed: int) -> Task:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 10))
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(10)])
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=rows)
    dataset = Dataset("watched", frame.assign(y=np.where(score > 0, "yes", "no")), "y")
    widths = np.geomspace(0.01, 10, kernels)
    return Task(templates.flat([Kernel("rbf", gamma=g) for g in widths]), dataset, Choices(), SplitSettings())


def processor() -> dict[int, float]:
    """Seconds of this process and of those below it, by their numbers."""
    top = psutil.Process()
    spent = {each.pid: each.cpu_times() for each in (top, *top.children(recursive=True))}
    return {number: times.user + times.system for number, times in spent.items()}


def since(before: dict[int, float]) -> float:
    """Of those that are there now: one of an earlier training may end meanwhile."""
    return sum(seconds - before.get(number, 0.0) for number, seconds in processor().items())


def alone(task: Task, settings: Settings) -> Seconds:
    began, spent = time.perf_counter(), processor()
    train(prepare(task.spn, task.dataset, task.choices, task.split), settings)
    return time.perf_counter() - began, since(spent)


def in_the_app(trainer: Trainer, task: Task, settings: Settings) -> Seconds:
    began, spent = time.perf_counter(), processor()
    activity = trainer.start("train", task, settings, lambda: True)
    while not activity.job.join(LOOK_SECONDS):
        list(activity.job.records)
    seconds = time.perf_counter() - began, since(spent)
    trainer.collect()
    assert trainer.failure is None, trainer.failure
    return seconds


def measured(rows: int, kernels: int, settings: Settings, times: int) -> tuple[list[Seconds], ...]:
    """Seconds alone, with a new process, and with one that is ready."""
    found: tuple[list[Seconds], ...] = ([], [], [])
    for k in range(times):
        task, trainer = task_of(rows, kernels, k), Trainer()
        again = Task(task.spn, task_of(rows, kernels, k).dataset, *_chosen())
        touch_memory(8 * kernels * rows**2)
        found[0].append(alone(task, settings))
        touch_memory(8 * kernels * rows**2)
        found[1].append(in_the_app(trainer, task, settings))
        touch_memory(8 * kernels * rows**2)
        found[2].append(in_the_app(trainer, again, settings))
        trainer.worker.close()
    return found


def touch_memory(n_bytes: int) -> None:
    """Have the machine make ready what a training takes: a virtual one may need seconds for each GB of it."""
    np.ones(n_bytes // 8)


def _chosen() -> tuple[Choices, SplitSettings]:
    return Choices(), SplitSettings()


def beside(alone: list[Seconds], other: list[Seconds]) -> tuple[str, bool]:
    """How others compare with those alone, done by turns with them; whether that is within the aims."""
    pairs = list(zip(alone, other, strict=True))
    bare, wall = (statistics.median(each[0] for each in some) for some in (alone, other))
    ratio, work = (statistics.median(b[k] / a[k] for a, b in pairs) for k in (0, 1))
    more = statistics.median(b[0] - a[0] for a, b in pairs)
    held = ratio <= MOST_RATIO if bare > LONG_SECONDS else more <= MOST_MORE
    return f"{wall:.2f} s ({ratio:.2f} times, {more:+.2f} s; processor {work:.2f} times)", held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=5, help="that each training is done; default 5")
    parser.add_argument("--cases", type=int, default=len(CASES), help="how many of the cases; default all")
    parser.add_argument("--page", action="store_true", help="write the table into docs/reliability.md")
    asked = parser.parse_args()
    load_compiled()
    NURSERY.start()
    while not NURSERY.ready:
        time.sleep(0.1)
    rows = []
    for name, (n, kernels, settings) in list(CASES.items())[: asked.cases]:
        times = measured(n, kernels, settings, asked.times)
        bare = statistics.median(wall for wall, _ in times[0])
        told, held = zip(*(beside(times[0], each) for each in times[1:]), strict=True)
        rows.append([name, f"{bare:.2f} s", *told, "yes" if all(held) else "no"])
        print(" | ".join(rows[-1]), flush=True)
    NURSERY.stop()
    if asked.page:
        head = ["training", "alone", "new", "ready", "within the aims"]
        put("watched", f"`python scripts/watched.py --times {asked.times}` {circumstances()}:\n\n{table(head, rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
