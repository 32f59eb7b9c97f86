"""What training by landmarks costs, part by part: `python benchmarks/cost.py [--check 100000] [--out FOLDER]`.

Each part is measured on small runs (processor seconds of one thread) and divided by what it grows with:

- features: rounds · n · m entries of k kernels, and rounds · n · m · rank multiplications of the projection;
- the SVM: 4 · n · rank bytes for each of its passes, and once more for each solve;
- the rest: rounds · m³ for the eigenvectors of the landmarks, and the sample, which costs the same at any n.

The model is then checked on larger runs that it has not seen: those of `--check`, and those that
`python benchmarks/landmarks.py rows --out FOLDER` has measured (`--runs FOLDER/landmarks_rows.csv`). Last it says what
10⁷ rows on 100 machines would take. That is a prediction: nothing of the kind was run.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from landmarks import in_a_process, on_many_rows
from scipy.optimize import nnls

SMALL = [(8_000, 250), (8_000, 500), (16_000, 500), (16_000, 1000), (32_000, 500), (32_000, 1000)]
NETWORK = 1e9  # bytes a second into the machine of the SVM, for the prediction
DISK = 2e9  # bytes a second from its disk
SWEEPS = 4  # of all features in a pass: the descent, the sum, and both sides of the gap


@dataclass(frozen=True)
class Run:
    """Of one training: processor seconds of its parts, with what they grow with."""

    n: int
    m: int
    rank: int
    kernels: int  # left by the weights
    rounds: int  # of features
    solves: int  # of the SVM
    passes: int  # of all solves
    features: float
    svm: float
    total: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Run:
        """From what `landmarks.py rows` tells; the seconds of workers count as features."""
        whole = [int(row[name]) for name in ("rows", "landmarks", "rank", "kernels left", "rounds", "solves", "passes")]
        elsewhere = float(row["of workers"])
        return cls(
            *whole, float(row["features"]) + elsewhere, float(row["svm"]), float(row["processor seconds"]) + elsewhere
        )

    @property
    def rest(self) -> float:
        return self.total - self.features - self.svm

    @property
    def grown(self) -> dict[str, float]:
        """What each number of the model is multiplied by."""
        return {
            "entry": float(self.rounds * self.n * self.m) * self.kernels,
            "multiplication": float(self.rounds * self.n) * self.m * self.rank,
            "byte": 4.0 * (self.passes + self.solves) * self.n * self.rank,
            "cube": self.rounds * float(self.m) ** 3,
            "sample": 1.0,
        }


@dataclass(frozen=True)
class Model:
    """Seconds of one thread."""

    entry: float  # of a kernel
    multiplication: float  # of the projection
    byte: float  # of features, in a pass
    cube: float  # of the landmarks
    sample: float

    @classmethod
    def fitted(cls, runs: list[Run]) -> Model:
        """Least squares of relative errors part by part, none below 0."""

        def part(seconds: list[float], *names: str) -> list[float]:
            grown = np.array([[run.grown[name] for name in names] for run in runs])
            return nnls(grown / np.array(seconds)[:, None], np.ones(len(runs)))[0].tolist()

        return cls(
            *part([run.features for run in runs], "entry", "multiplication"),
            *part([run.svm for run in runs], "byte"),
            *part([run.rest for run in runs], "cube", "sample"),
        )

    def seconds(self, run: Run) -> dict[str, float]:
        """By part."""
        of = {name: value * run.grown[name] for name, value in asdict(self).items()}
        return {
            "features": of["entry"] + of["multiplication"],
            "svm": of["byte"],
            "rest": of["cube"] + of["sample"],
        }


def line(run: Run, model: Model | None = None) -> str:
    found = {"features": run.features, "svm": run.svm, "rest": run.rest, "total": run.total}
    told = {name: f"{seconds:.1f}" for name, seconds in found.items()}
    if model is not None:
        thought = model.seconds(run)
        thought["total"] = sum(thought.values())
        told = {name: f"{seconds} ({thought[name]:.1f})" for name, seconds in told.items()}
    counts = f"{run.rounds}, {run.solves}, {run.passes}"
    return f"| {run.n:,} | {run.m:,} | {run.kernels} | {counts} | " + " | ".join(told.values()) + " |"


def prediction(model: Model, like: Run, rows: float = 1e7, m: int = 2000, machines: int = 100) -> str:
    """In words, with passes and rounds as in the largest run."""
    n = int(rows)
    run = Run(n, m, m, like.kernels, like.rounds, like.solves, like.passes, 0.0, 0.0, 0.0)
    seconds, gigabytes = model.seconds(run), 4e-9 * n * m
    sent = like.rounds * gigabytes * 1e9 / NETWORK
    read = SWEEPS * (like.passes + like.solves) * gigabytes * 1e9 / DISK
    features = seconds["features"] / machines
    total = seconds["rest"] + max(features, sent) + seconds["svm"] + read
    return (
        f"Prediction, not measured: {n:,} rows, {m:,} landmarks, {machines} machines of one thread: the sample "
        f"{seconds['rest']:.0f} s; features {features:.0f} s, {gigabytes:.0f} GB of them sent to one machine in "
        f"{sent:.0f} s at {NETWORK / 1e9:g} GB/s; the SVM there {seconds['svm']:.0f} s in {like.solves} solves of "
        f"{like.passes} passes, and {read:.0f} s for reading from a disk at {DISK / 1e9:g} GB/s: {total / 3600:.1f} h."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", type=int, nargs="*", default=[100_000], help="rows of larger runs")
    parser.add_argument("--m", type=int, default=2000, help="their landmarks")
    parser.add_argument("--runs", type=Path, nargs="*", default=[], help="tables of landmarks.py rows, checked too")
    parser.add_argument("--out", type=Path, help="a folder for cost.json, which a run that was cut off goes on from")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    kept = Kept(options.out)
    print("| rows | landmarks | kernels | rounds, solves, passes | features | SVM | rest | total |")
    print("|---:|---:|---:|---|" + 4 * "---:|", flush=True)
    small = []
    for n, m in SMALL:
        small.append(kept.measured(n, m))
        print(line(small[-1]), flush=True)
    model = Model.fitted(small)
    print("\n" + ", ".join(f"{name} {value:.3g}" for name, value in asdict(model).items()) + " (s)\n", flush=True)
    larger = [Run.of(row) for file in options.runs for row in pd.read_csv(file).to_dict("records")]
    for run in larger:
        print(line(run, model), flush=True)
    for n in options.check:
        larger.append(kept.measured(n, options.m))
        print(line(larger[-1], model), flush=True)
    print("\n" + prediction(model, max([*small, *larger], key=lambda run: run.n)))


class Kept:
    """Runs that were measured, in a file where one is wanted."""

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / "cost.json"
        known = self._file is not None and self._file.exists()
        self._runs = [Run(**run) for run in json.loads(self._file.read_text(encoding="utf-8"))] if known else []

    def measured(self, n: int, m: int) -> Run:
        for run in self._runs:
            if (run.n, run.m) == (n, m):
                return run
        self._runs.append(Run.of(in_a_process(on_many_rows, n, m, None, 0)))
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(list(map(asdict, self._runs)), indent=1), encoding="utf-8")
        return self._runs[-1]


if __name__ == "__main__":
    main()
