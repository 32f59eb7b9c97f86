"""Landmarks beside the exact solution, and on many rows: `python benchmarks/landmarks.py accuracy|rows [--out FOLDER]`.

`accuracy` trains on five sets exactly and by landmarks: for every number of landmarks m the accuracy on rows held out,
the share of them that are answered as by the exact model, how far the objective over all rows is above the exact, and
the gap that one and five passes over the exact kernels prove.
`rows` trains on many rows, in a process of its own, and measures processor seconds and the peak of its memory.
Ten kernels, one thread; synthetic sets have fixed seeds, digits is scikit-learn's.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import vl_convert
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification
from sklearn.preprocessing import StandardScaler

from spnmkl import SPN, Kernel, SPNMKLClassifier, templates
from spnmkl.cluster.connecting import started
from spnmkl.landmarks import entry
from spnmkl.landmarks.features import Landmarks
from spnmkl.landmarks.linear import LinearSVM

Data = tuple[NDArray[np.float64], NDArray]
TEST_ROWS = 2000
LANDMARKS = [100, 200, 500, 1000, 2000]
THREADS = 1


def kernels10(n_features: int) -> SPN:
    """Five rbf widths and a linear kernel on all columns, rbf on four groups of them."""
    groups = np.array_split(np.arange(n_features), 4)
    return templates.flat(
        [
            *(Kernel("rbf", gamma=float(g) / n_features) for g in np.logspace(-1.5, 1.0, 5)),
            Kernel("linear"),
            *(Kernel("rbf", gamma=1 / len(g), features=g.tolist()) for g in groups),
        ]
    )


def clusters(n: int) -> Data:
    return make_classification(
        n, 20, n_informative=10, n_redundant=4, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )


def waves(n: int) -> Data:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6))
    return X, np.sin(2 * X[:, 0]) + np.cos(2 * X[:, 1]) + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n) > 0


def ball(n: int) -> Data:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 4))
    return X, (np.linalg.norm(X, axis=1) > 1.8) ^ (rng.random(n) < 0.05)


def three(n: int) -> Data:
    return make_classification(
        n, 12, n_informative=8, n_classes=3, n_clusters_per_class=2, flip_y=0.03, class_sep=1.2, random_state=3
    )


def digits(n: int) -> Data:
    X, y = load_digits(return_X_y=True)
    kept = X.std(axis=0) > 0
    order = np.random.default_rng(4).permutation(len(y))[:n]
    return X[order][:, kept], y[order]


SETS: dict[str, tuple[Callable[[int], Data], float]] = {
    "clusters": (clusters, 0.02),
    "waves": (waves, 0.02),
    "ball": (ball, 0.02),
    "three classes": (three, 0.02),
    "digits": (digits, 0.05),
}


def parted(name: str, n: int) -> tuple[Data, Data]:
    make = SETS[name][0]
    X, y = make(n + TEST_ROWS)
    X = StandardScaler().fit_transform(X)
    n = n if len(y) == n + TEST_ROWS else 2 * len(y) // 3
    return (X[:n], y[:n]), (X[n:], y[n:])


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    return work(), time.process_time() - started


def accuracy(name: str, n: int, sample_size: int) -> Iterator[dict[str, Any]]:
    """The exact model, and then one by landmarks for each number of them."""
    (X, y), (X_new, y_new) = parted(name, n)
    settings: dict[str, Any] = {"C": SETS[name][1], "n_threads": THREADS}
    spn = kernels10(X.shape[1])
    exact, seconds = timed(lambda: SPNMKLClassifier(spn, **settings).fit(X, y))
    answers = exact.predict(X_new)
    shared = {"set": name, "rows": len(y), "sample": min(sample_size, len(y))}
    yield shared | {
        "landmarks": "exact",
        "accuracy": np.mean(answers == y_new),
        "as exact": 1.0,
        "objective above": 0.0,
        "seconds": seconds,
        "support vectors": len(exact.support_),
    }
    for m in [m for m in LANDMARKS if m <= sample_size]:
        model = SPNMKLClassifier(spn, approximation="nystroem", n_components=m, sample_size=sample_size, **settings)
        model, seconds = timed(lambda model=model: model.fit(X, y))
        found = model.predict(X_new)
        yield shared | {
            "landmarks": m,
            "accuracy": np.mean(found == y_new),
            "as exact": np.mean(found == answers),
            "objective above": model.approximation_.objective / exact.objective_ - 1,
            "svm gap": model.approximation_.svm_gap,
            "seconds": seconds,
            **certified(model, X, y),
        }


def certified(model: SPNMKLClassifier, X: NDArray[np.float64], y: NDArray, *passes: int) -> dict[str, Any]:
    """What so many passes over the exact kernels prove of all rows, each number of them by itself."""
    found: dict[str, Any] = {}
    for k in passes or (1, 5):
        proof, seconds = timed(lambda k=k: model.certify(X, y, passes=k, tick=seldom()))
        found |= {f"gap, {k} passes": proof.gap, f"bound, {k} passes": proof.dual_bound, f"proved in, {k}": seconds}
    return found


def seldom() -> Callable[[str], None]:
    """Tells what every pass of a certificate proved, and every half a minute how far it is."""
    told = time.monotonic()

    def tick(words: str) -> None:
        nonlocal told
        if time.monotonic() > told + 30 or "lower" in words:
            told = time.monotonic()
            now(words)

    return tick


@dataclass
class Watch:
    """The parts of one training by landmarks: processor seconds of this process, and what they grow with."""

    features: float = 0.0
    rounds: int = 0  # of features
    svm: float = 0.0
    solves: int = 0
    passes: int = 0  # whole ones, of all solves
    rank: int = 0  # of the landmarks' matrix


@contextmanager
def watching() -> Iterator[Watch]:
    """The parts of the trainings meanwhile, told on the standard error output as they end."""
    watch, own = Watch(), (entry.feature_blocks, entry.solve_linear)

    def features(seen: Landmarks, *given: Any, **named: Any) -> Any:
        blocks, seconds = timed(lambda: own[0](seen, *given, **named))
        watch.features, watch.rounds, watch.rank = watch.features + seconds, watch.rounds + 1, seen.T.shape[1]
        now(f"features, rank {watch.rank}: {seconds:.1f} s")
        return blocks

    def svm(*given: Any, **named: Any) -> LinearSVM:
        found, seconds = timed(lambda: own[1](*given, **named))
        watch.svm, watch.solves, watch.passes = watch.svm + seconds, watch.solves + 1, watch.passes + found.passes
        now(f"SVM, {found.passes} passes to gap {found.gap:.1e}: {seconds:.1f} s")
        return found

    entry.feature_blocks, entry.solve_linear = features, svm
    try:
        yield watch
    finally:
        entry.feature_blocks, entry.solve_linear = own


def now(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def on_many_rows(
    n: int, m: int, max_memory: float | None, workers: int, passes: int = 0, name: str = "clusters"
) -> dict[str, Any]:
    """One training and 2,000 answers; features by so many worker processes, or here where there are none."""
    with workers_of_dask(workers) as client:
        make, C = SETS[name]
        X, y = make(n + TEST_ROWS)
        X = StandardScaler().fit_transform(X)
        _small()
        model = SPNMKLClassifier(
            kernels10(X.shape[1]),
            C=C,
            approximation="nystroem",
            n_components=m,
            n_threads=THREADS,
            max_memory=max_memory,
        )
        before, began = seconds_elsewhere(client), time.monotonic()
        now(f"{n:,} rows, {m:,} landmarks")
        with watching() as watch, anonymous_peak() as own:
            _, seconds = timed(lambda: model.fit(X[:n], y[:n]))
        elapsed, elsewhere = time.monotonic() - began, seconds_elsewhere(client) - before
        beside = sum(client.run(peak).values()) if client else 0.0
        answers, answering = timed(lambda: model.predict(X[n:]))
        at_most, own_at_most = peak(), own.gigabytes
        proved: dict[str, Any] = {}
        if passes:
            with anonymous_peak() as beside_passes:
                proved = certified(model, X[:n], y[:n], passes)
            proved |= {"GB of the proof": beside_passes.gigabytes, "peak with it GB": peak()}
    found = model.approximation_
    assert found is not None
    return {
        "set": name,
        "rows": n,
        "landmarks": m,
        "workers": workers,
        "kernels left": len(model.kernels_),
        "processor seconds": seconds,
        "of workers": elsewhere,
        "elapsed seconds": elapsed,
        **asdict(watch),
        "peak memory GB": at_most,
        "without files GB": own_at_most,
        "workers' GB": beside,
        "sample gap": found.sample_gap,
        "svm gap": found.svm_gap,
        "objective": found.objective,
        "steps": found.steps,
        "accuracy": float(np.mean(answers == y[n:])),
        "seconds per 1,000 answers": answering / (TEST_ROWS / 1000),
        **proved,
    }


@contextmanager
def workers_of_dask(workers: int) -> Iterator[Any]:
    """A local cluster that takes what joblib sends, or None for none."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    with (
        started(LocalCluster, workers) as cluster,
        Client(cluster) as client,
        parallel_config("dask", client=client),
    ):
        client.run(_small)
        yield client


def _small() -> None:
    """Imports, and compiles or reads from a cache."""
    X, y = clusters(500)
    SPNMKLClassifier(kernels10(20), C=1.0, approximation="nystroem", n_components=50, sample_size=200).fit(X, y)


def seconds_elsewhere(client: Any) -> float:
    return sum(client.run(time.process_time).values()) if client else 0.0


def peak() -> float:
    """The most resident memory so far, features that are read from a file included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


@dataclass
class Held:
    gigabytes: float = 0.0


@contextmanager
def anonymous_peak() -> Iterator[Held]:
    """The most memory that no file stands for, looked at twice a second."""
    held, over = Held(), Event()

    def look() -> None:
        while not over.wait(0.5):
            status = Path("/proc/self/status").read_text(encoding="ascii")
            kilobytes = int(status.split("RssAnon:")[1].split()[0])
            held.gigabytes = max(held.gigabytes, kilobytes * 1024 / 1e9)

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        over.set()
        thread.join()


def in_a_process(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """So that its peak of memory is its own; it may start workers."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


FIGURE = {
    "above": "objective above the exact one (%)",
    "otherwise": "rows answered otherwise (%)",
    "lost": "accuracy below the exact one (points)",
}


def drawn(found: pd.DataFrame) -> str:
    """Curves over the number of landmarks as SVG: a panel for each thing lost, a line for each set."""
    exact = found[found["landmarks"] == "exact"].set_index(["set", "rows"])["accuracy"]
    some = found[found["landmarks"] != "exact"].copy()
    some["m"] = some["landmarks"].astype(float)
    some["of"] = some["set"] + some["rows"].map(", {:,} rows".format)
    some["lost"] = 100 * (some.set_index(["set", "rows"]).index.map(exact).to_numpy() - some["accuracy"])
    some["above"] = 100 * some["objective above"].clip(lower=1e-5)
    some["otherwise"] = 100 * (1 - some["as exact"])
    records = some[["set", "asked", "of", "m", *FIGURE]].to_dict("records")

    def panel(field: str) -> alt.LayerChart:
        scale = alt.Scale(type="log") if field == "above" else alt.Scale()
        axis = {"gridColor": "#eceff3", "titleFontWeight": "normal", "tickCount": 5}
        base = alt.Chart(alt.Data(values=records)).encode(
            x=alt.X(
                "m:Q",
                title="landmarks",
                scale=alt.Scale(type="log", nice=False, padding=8),
                axis=alt.Axis(**axis, format=",~g", values=LANDMARKS),
            ),
            y=alt.Y(f"{field}:Q", title=FIGURE[field], scale=scale, axis=alt.Axis(**axis, format="~g")),
            color=alt.Color("set:N", title=None, sort=list(SETS)),
            strokeDash=alt.StrokeDash("asked:O", title="training rows, at most"),
            detail="of:N",
        )
        return alt.layer(base.mark_line(), base.mark_point(filled=True, size=40)).properties(width=240, height=200)

    config = {"background": "white", "font": "Arial, 'Liberation Sans', sans-serif", "view": {"stroke": None}}
    chart = alt.hconcat(*map(panel, FIGURE)).to_dict()
    return str(vl_convert.vegalite_to_svg(chart, config=config, allowed_base_urls=[]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["accuracy", "rows"])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), help="all; of rows: clusters")
    parser.add_argument("--n", type=int, nargs="+", default=None, help="training rows; default 5000, or 20000 100000")
    parser.add_argument("--sample", type=int, default=2000, help="of accuracy; default 2000")
    parser.add_argument("--m", type=int, default=1000, help="landmarks of rows; default 1000")
    parser.add_argument("--max-memory", type=float, help="gigabytes for features in memory")
    parser.add_argument("--workers", type=int, nargs="+", default=[0], help="of rows: processes of Dask; 0: none")
    parser.add_argument("--certify", type=int, default=0, metavar="PASSES", help="of rows: prove a bound by so many")
    parser.add_argument("--out", type=Path, help="a folder for the table, as CSV, to which is added what it lacks")
    args = parser.parse_args()
    table = Table(args.out, f"landmarks_{args.what}.csv")
    if args.what == "accuracy":
        for name in args.sets or SETS:
            for n in args.n or [5000]:
                if not table.has(set=name, asked=n, sample=args.sample):
                    for row in [row | {"asked": n} for row in accuracy(name, n, args.sample)]:
                        table.add(row)
        if args.out is not None:
            (args.out / "landmarks.svg").write_text(drawn(table.frame), encoding="utf-8")
        return
    for n in args.n or [20_000, 100_000]:
        for name in args.sets or ["clusters"]:
            for workers in args.workers:
                if not table.has(set=name, rows=n, landmarks=args.m, workers=workers):
                    table.add(in_a_process(on_many_rows, n, args.m, args.max_memory, workers, args.certify, name))


class Table:
    """What was found, printed as it comes and kept in a file where one is wanted."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._file = None if folder is None else folder / name
        known = self._file is not None and self._file.exists()
        self.frame = pd.read_csv(self._file, dtype={"landmarks": str}) if known else pd.DataFrame()

    def has(self, **values: Any) -> bool:
        if not set(values) <= set(self.frame.columns):
            return False
        return bool(np.all([self.frame[k].astype(str) == str(v) for k, v in values.items()], axis=0).any())

    def add(self, row: dict[str, Any]) -> None:
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
        self.frame = pd.concat([self.frame, pd.DataFrame([row | {"landmarks": str(row["landmarks"])}])])
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self.frame.to_csv(self._file, index=False)


if __name__ == "__main__":
    main()
