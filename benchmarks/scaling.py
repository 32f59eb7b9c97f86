"""How training grows with rows, kernels and paths: `python benchmarks/scaling.py [--rows 250 500 …] [--out FOLDER]`.

Every point is one training to a certified gap of 1e-3 (C = 10, one thread) in a process of its own, on data whose
kernels are ready; where the matrices would take more than `--memory` GB they are computed tile by tile whenever they
are needed, and that is part of the time. Memory is the peak beyond what the process held before. An exponent is the
slope of a line through the larger half of the points, both axes logarithmic. What takes more than 10 seconds is
measured once. Writes scaling.csv and scaling.svg.

Piece by piece: `--keep` keeps the points of the table that is there and are not measured anew, so that
`--keep --rows 50000 --kernels --paths --limit 3600` adds one point, as far as an hour reaches. `--landmarks` trains by
landmarks (`landmarks.py rows`: ten kernels, C = 0.02, processor seconds), those of landmarks_rows.csv excepted, and
many_rows.svg has these beside the exact ones.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import vl_convert
from numpy.typing import ArrayLike, NDArray
from peers import THREADS, machine, peak, reset_peak, seconds, versions
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from solver import C, kernels25

from spnmkl import SPN, Kernel, solve, templates
from spnmkl.circuit.source import KernelSource
from spnmkl.kernels import fit_kernels, fit_tiles

Floats = NDArray[np.float64]
FEATURES = 30
LONG = 10.0  # seconds; what takes longer is measured once
SERIES = {
    "rows": "rows (25 kernels)",
    "kernels": "kernels (500 rows)",
    "paths": "paths (300 rows)",
    "landmarks": "rows (10 kernels)",
}
ROWS = [250, 500, 1000, 2000, 4000, 8000, 14000, 20000]
KERNELS = [10, 25, 50, 100, 200, 350, 500]
STORED = ["matrices", "tiles"]
PACKAGES = ("spnmkl", "numpy", "scipy", "scikit-learn", "numba")
HEAD = "| series | x | kernels as | time | evaluations | memory | gap | status |\n|---|---:|---|" + 4 * "---:|" + "---|"
SUMS = [1, 2, 3, 4, 6, 8, 10, 12]  # of ten kernels each, multiplied: 10^1 to 10^12 paths


@dataclass(frozen=True)
class Point:
    series: str
    x: int
    stored: str  # "matrices", "tiles" or so many landmarks
    seconds: float
    least: float
    most: float
    megabytes: float
    evaluations: int
    gap: float
    status: str


@dataclass(frozen=True)
class Case:
    """What is trained: the structure over so many rows, as `peers.py` makes its synthetic ones."""

    spn: SPN
    n: int

    def data(self) -> tuple[Floats, NDArray]:
        X, y = make_classification(self.n, FEATURES, n_informative=10, flip_y=0.1, random_state=0)
        return StandardScaler().fit_transform(X), y

    def kernels(self, tiles: bool) -> tuple[Mapping[str, ArrayLike] | KernelSource, NDArray]:
        X, y = self.data()
        return (fit_tiles if tiles else fit_kernels)(self.spn, X)[0], y

    @property
    def gigabytes(self) -> float:
        return 8 * len(self.spn.kernels) * self.n**2 / 2**30


def by_rows(n: int) -> Case:
    return Case(templates.flat(kernels25(FEATURES)), n)


def by_kernels(count: int) -> Case:
    return Case(templates.flat(some_kernels(count)), 500)


def by_paths(sums: int) -> Case:
    leaves = some_kernels(10 * sums)
    return Case(templates.product_of_sums({f"sum {k}": leaves[k::sums] for k in range(sums)}), 300)


def some_kernels(count: int) -> list[Kernel]:
    """Rbf kernels on three features each, of many widths."""
    rng = np.random.default_rng(0)
    chosen = [sorted(rng.choice(FEATURES, 3, replace=False).tolist()) for _ in range(count)]
    return [Kernel("rbf", gamma=float(10 ** rng.uniform(-2, 0.5)), features=columns) for columns in chosen]


CASES: dict[str, Callable[[int], Case]] = {"rows": by_rows, "kernels": by_kernels, "paths": by_paths}


def measured(connection: Connection, series: str, size: int, options: argparse.Namespace) -> None:
    """In a process of its own."""
    case = CASES[series](size)
    tiles = case.gigabytes > options.memory
    small = replace(case, n=60)
    solve(case.spn, *small.kernels(tiles), C=C, n_threads=options.threads)  # compiles, or reads from a cache
    kernels, y = case.kernels(tiles)
    before, spent, memory = reset_peak(), [], 0.0
    for _ in range(options.repeats):
        took, solution = seconds(lambda: solve(case.spn, kernels, y, C=C, tol=options.tol, n_threads=options.threads))
        spent.append(took)
        memory = max(memory, peak() - before)
        if took > LONG:
            break
    connection.send(
        Point(
            series,
            case.n if series == "rows" else len(case.spn.kernels) if series == "kernels" else case.spn.n_paths,
            "tiles" if tiles else "matrices",
            median(spent),
            min(spent),
            max(spent),
            memory / 2**20,
            solution.history[-1].evaluations,
            solution.gap,
            solution.status,
        )
    )


def point(series: str, size: int, options: argparse.Namespace) -> Point | str:
    context = get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=measured, args=(sending, series, size, options), daemon=True)
    process.start()
    sending.close()
    try:
        return receiving.recv() if receiving.poll(options.limit) else f"more than {options.limit:g} s"
    except EOFError:
        return "its process died"
    finally:
        process.kill()
        process.join()


def by_landmarks(row: Mapping[str, Any]) -> Point:
    """From what `landmarks.py rows` tells of one training."""
    seconds = float(row["processor seconds"]) + float(row["of workers"])
    gigabytes = float(row["peak memory GB"]) + float(row["workers' GB"])
    return Point(
        "landmarks",
        int(row["rows"]),
        f"{int(row['landmarks']):,} landmarks",
        *(seconds, seconds, seconds),
        gigabytes * 1e9 / 2**20,
        int(row["passes"]),
        float(row["svm gap"]),
        "SVM's gap",
    )


def beside(points: list[Point], earlier: list[Point]) -> list[Point]:
    """All of them; of the same training the one of now."""
    found = {(p.series, p.x, p.stored): p for p in [*earlier, *points]}
    return sorted(found.values(), key=lambda p: (list(SERIES).index(p.series), p.stored, p.x))


def exponent(points: list[Point], field: str) -> float:
    """Slope of log(field) in log(x) over the larger half of the points; NaN for fewer than two."""
    larger = sorted(points, key=lambda p: p.x)[-max(2, (len(points) + 1) // 2) :]
    if len(larger) < 2:
        return float("nan")
    x, values = ([float(getattr(p, name)) for p in larger] for name in ("x", field))
    return float(np.polyfit(np.log(x), np.log(np.maximum(values, 1e-9)), 1)[0])


def line(p: Point) -> str:
    spread = f"{p.seconds:.2f} s ({p.least:.2f}–{p.most:.2f})"
    size = f"{p.x:,}" if p.x < 10**6 else f"{p.x:.0e}"
    return (
        f"| {SERIES[p.series]} | {size} | {p.stored} | {spread} | {p.evaluations} | {p.megabytes:,.0f} MB | "
        f"{p.gap:.1e} | {p.status} |"
    )


def exponents(points: list[Point]) -> list[str]:
    """One sentence per curve."""
    curves = groupby(sorted(points, key=lambda p: (p.series, p.stored)), key=lambda p: (p.series, p.stored))
    return [
        f"{SERIES[series]}, {stored}: time grows as x^{exponent(members, 'seconds'):.2f}, "
        f"memory as x^{exponent(members, 'megabytes'):.2f}, evaluations as x^{exponent(members, 'evaluations'):.2f}."
        for (series, stored), members in ((key, list(group)) for key, group in curves)
        if len(members) > 1
    ]


def axis(numbers: str) -> alt.Axis:
    return alt.Axis(format=numbers, tickCount=4, gridColor="#eceff3", titleFontWeight="normal")


def panel(points: list[Point], series: str, field: str, title: str) -> alt.LayerChart | alt.FacetChart:
    records = [asdict(p) | {"x": float(p.x), "megabytes": max(p.megabytes, 0.1)} for p in points if p.series == series]
    numbers = "~e" if series == "paths" else ",~g"
    kinds = [*STORED, *sorted({p.stored for p in points} - set(STORED))]
    base = alt.Chart(alt.Data(values=records)).encode(
        x=alt.X("x:Q", title=SERIES[series], scale=alt.Scale(type="log"), axis=axis(numbers)),
        y=alt.Y(f"{field}:Q", title=title, scale=alt.Scale(type="log"), axis=axis(",~g")),
        color=alt.Color("stored:N", title=None, scale=alt.Scale(domain=kinds)),
    )
    slopes = {
        stored: exponent([p for p in points if (p.series, p.stored) == (series, stored)], field) for stored in kinds
    }
    told = [f"{stored}: x^{slope:.2f}" for stored, slope in slopes.items() if np.isfinite(slope)]
    note = alt.Chart(alt.Data(values=[{}])).mark_text(align="left", x=8, y=10, fontSize=11, text=told)
    return alt.layer(base.mark_line(), base.mark_point(filled=True, size=45), note).properties(width=230, height=170)


def drawn(points: list[Point]) -> str:
    """The curves as SVG: time above memory, a column per series."""
    fields = {"seconds": "seconds", "megabytes": "memory (MB)"}
    present = [series for series in SERIES if any(p.series == series for p in points)]
    rows = [alt.hconcat(*(panel(points, s, field, title) for s in present)) for field, title in fields.items()]
    config = {"background": "white", "font": "Arial, 'Liberation Sans', sans-serif", "view": {"stroke": None}}
    return str(vl_convert.vegalite_to_svg(alt.vconcat(*rows).to_dict(), config=config, allowed_base_urls=[]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--kernels", type=int, nargs="*", default=KERNELS)
    parser.add_argument("--paths", type=int, nargs="*", default=SUMS, help="numbers of sums of ten kernels")
    parser.add_argument("--landmarks", type=int, nargs="*", default=[], help="rows to train on by landmarks")
    parser.add_argument("--components", type=int, default=1000, help="how many landmarks; default 1000")
    parser.add_argument("--feature-memory", type=float, help="GB of features in memory; default half of what is free")
    parser.add_argument("--keep", action="store_true", help="keep the points of scaling.csv that are not measured anew")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", type=float, default=4.0, help="GB of matrices; more are computed in tiles")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for one point")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, str(options.threads)))  # read by the processes that are started
    threads = "one thread" if options.threads == 1 else f"{options.threads} threads"
    print(f"{versions(PACKAGES)}; {machine()}.")
    print(f"tol {options.tol:g}, C = {C:g}, {threads}, median of {options.repeats} (least–most).\n")
    print(HEAD)
    points = []
    for series in CASES:
        for size in getattr(options, series):
            answer = point(series, size, options)
            if isinstance(answer, Point):
                points.append(answer)
            print(
                line(answer) if isinstance(answer, Point) else f"| {series} | {size} | {answer} |" + 5 * " |",
                flush=True,
            )
    table = options.out / "scaling.csv"
    if options.keep:
        points = beside(points, [Point(**row) for row in pd.read_csv(table).to_dict("records")])
    print("", *exponents(points), sep="\n")
    pd.DataFrame(map(asdict, points)).to_csv(table, index=False)
    (options.out / "scaling.svg").write_text(drawn(points), encoding="utf-8")
    # Not above: tiles.py runs this file with older versions too.
    from landmarks import Table, in_a_process, on_many_rows

    runs = Table(options.out, "landmarks_rows.csv")
    for n in options.landmarks:
        if not runs.has(rows=n, landmarks=options.components, workers=0):
            runs.add(in_a_process(on_many_rows, n, options.components, options.feature_memory, 0))
    if len(runs.frame):
        many = [by_landmarks(row) for row in runs.frame.to_dict("records") if not row["workers"]]
        print("", *exponents(many), sep="\n")
        exact = [p for p in points if p.series == "rows"]
        (options.out / "many_rows.svg").write_text(drawn([*exact, *many]), encoding="utf-8")


if __name__ == "__main__":
    main()
