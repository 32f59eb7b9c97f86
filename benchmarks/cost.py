"""What training by landmarks costs, part by part: `python benchmarks/cost.py [--check 100000] [--out FOLDER]`.

Each part is timed on small runs (processor seconds of one thread) and divided by what it grows with:

- features: n·m·k entries of k kernels, and n·m² multiplications of the projection;
- the SVM: passes · n · m bytes·4, the data of a pass of coordinate descent, with its passes over free rows;
- the sample: s² · k entries of its kernels and what solving them takes, as it is.

The model is then checked on a larger run that it has not seen, and says what 10⁷ rows on 100 machines would take. That
last line is a prediction: nothing of the kind was run, and waiting for the network is counted by its bytes alone.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from landmarks import clusters, kernels10
from sklearn.preprocessing import StandardScaler

from spnmkl import SPNMKLClassifier
from spnmkl.landmarks import entry
from spnmkl.landmarks.linear import LinearSVM

SMALL = [(8_000, 250), (8_000, 500), (16_000, 500), (16_000, 1000), (32_000, 500)]
SAMPLE = 2000
NETWORK = 1e9  # bytes a second of a machine, for the prediction


@dataclass(frozen=True)
class Parts:
    """Processor seconds of one training, with what they grow with."""

    n: int
    m: int
    kernels: int  # left by the weights
    features: float
    rounds: int  # of features
    svm: float
    passes: int
    total: float

    @property
    def rest(self) -> float:
        """Of the sample, and of what is neither."""
        return self.total - self.features - self.svm


def measured(n: int, m: int) -> Parts:
    """One training, with its parts watched."""
    X, y = clusters(n)
    X = StandardScaler().fit_transform(X)
    spent = {"features": 0.0, "svm": 0.0}
    counts = {"rounds": 0, "passes": 0}

    def watched(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            started = time.process_time()
            found = work(*given, **named)
            spent[name] += time.process_time() - started
            counts["rounds"] += name == "features"
            counts["passes"] += found.passes if isinstance(found, LinearSVM) else 0
            return found

        return timed

    own = entry.feature_blocks, entry.solve_linear
    entry.feature_blocks, entry.solve_linear = watched("features", own[0]), watched("svm", own[1])
    try:
        model = SPNMKLClassifier(
            kernels10(20), C=0.02, approximation="nystroem", n_components=m, sample_size=SAMPLE, n_threads=1
        )
        started = time.process_time()
        model.fit(X, y)
        total = time.process_time() - started
    finally:
        entry.feature_blocks, entry.solve_linear = own
    return Parts(n, m, len(model.kernels_), spent["features"], counts["rounds"], spent["svm"], counts["passes"], total)


@dataclass(frozen=True)
class Model:
    """Seconds of one thread: per entry of a kernel, per multiplication of the projection, per byte of a pass."""

    entry: float
    multiplication: float
    byte: float
    sample: float

    @classmethod
    def fitted(cls, runs: list[Parts]) -> Model:
        """Least squares of relative errors, none below 0."""
        from scipy.optimize import nnls

        grown = np.array([[r.rounds * r.n * r.m * r.kernels, r.rounds * r.n * r.m**2] for r in runs], dtype=float)
        seconds = np.array([r.features for r in runs])
        per_entry, per_multiplication = nnls(grown / seconds[:, None], np.ones(len(runs)))[0]
        bytes_read = np.array([4.0 * r.passes * r.n * r.m for r in runs])
        svm = np.array([r.svm for r in runs])
        per_byte = float((bytes_read / svm).sum() / ((bytes_read / svm) ** 2).sum())
        return cls(float(per_entry), float(per_multiplication), per_byte, float(np.median([r.rest for r in runs])))

    def features(self, n: float, m: float, kernels: int, rounds: int) -> float:
        return rounds * (self.entry * n * m * kernels + self.multiplication * n * m**2)

    def svm(self, n: float, m: float, passes: int) -> float:
        return self.byte * 4.0 * passes * n * m

    def predicted(self, r: Parts) -> float:
        return self.features(r.n, r.m, r.kernels, r.rounds) + self.svm(r.n, r.m, r.passes) + self.sample


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", type=int, nargs="*", default=[100_000], help="rows of larger runs")
    parser.add_argument("--m", type=int, default=1000, help="their landmarks")
    parser.add_argument("--out", type=Path, help="a folder for cost.json")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    measured(2000, 100)  # compiles, or reads from a cache
    runs = []
    print(
        "| rows | landmarks | kernels left | features s | SVM s (passes) | total s |\n|---:|" + 5 * "---:|", flush=True
    )
    for n, m in SMALL:
        runs.append(measured(n, m))
        print(line(runs[-1]), flush=True)
    model = Model.fitted(runs)
    print("\n" + "  ".join(f"{name} {value:.3g}" for name, value in asdict(model).items()) + " s", flush=True)
    checked = []
    for n in options.check:
        found = measured(n, options.m)
        checked.append(found)
        print(f"{line(found)} predicted {model.predicted(found):.1f} s", flush=True)
    rows, m, machines, passes = 1e7, 2000, 100, max(r.passes for r in [*runs, *checked])
    kernels, rounds = max(r.kernels for r in runs), max(r.rounds for r in runs)
    features = model.features(rows, m, kernels, rounds) / machines
    sent = rounds * 4 * rows * m / machines / NETWORK
    svm = model.svm(rows, m, passes)
    print(
        f"\nPrediction, not measured: {rows:.0e} rows, {m} landmarks on {machines} machines of one thread: features "
        f"{features:.0f} s, {4e-9 * rows * m:.0f} GB of them sent in {sent:.0f} s, the SVM on one machine {svm:.0f} s "
        f"in {passes} passes."
    )
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        told = {"model": asdict(model), "small": list(map(asdict, runs)), "checked": list(map(asdict, checked))}
        (options.out / "cost.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


def line(r: Parts) -> str:
    return f"| {r.n:,} | {r.m:,} | {r.kernels} | {r.features:.1f} | {r.svm:.1f} ({r.passes}) | {r.total:.1f} |"


if __name__ == "__main__":
    main()
