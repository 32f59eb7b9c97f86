"""The suite that measures the solver: its grid, its report's arithmetic, and that a run goes on where it ended."""

import json
import math
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tolerances import ROUNDING

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import suite
from solver import STEPS
from suite_cases import CATEGORICAL, CS, FAMILIES, POWERS, STRUCTURES, Case, drawing, drawn, full_grid, pairs
from suite_measure import Took, result, train
from suite_report import by_processor, compared, geometric_mean, quantile, read, report, summary, time_ratio
from suite_tables import HELD_OUT, LARGE, TABLES, load, source_of


def line(case: str = "a", seconds: float = 1.0, unit: float = 0.1, **more: Any) -> dict[str, Any]:
    """A result, as in a file."""
    about = {"table": case, "family": "widths", "structure": "flat", "p": 1.0, "C": 1.0, "n": 9, "classes": 2}
    end = {"status": "optimal", "gap": 1e-4, "certified": True, "capped": False, "held_out": False, "tol": 1e-3}
    times = {"seconds": seconds, "unit": unit, "units": seconds / unit, "kernels": 4, "arithmetic": "Haswell"}
    return {"case": case} | about | end | times | more


def test_the_grid_is_whole_and_every_beginning_is_balanced() -> None:
    grid = list(full_grid())
    assert len(grid) == len({case.name for case in grid})
    assert len(grid) == (len(pairs()) + len(LARGE)) * len(STRUCTURES) * len(POWERS) * len(CS)
    assert drawn() == grid[: len(drawn())]
    for rounds in (1, 3):
        beginning = grid[: rounds * (len(pairs()) + 1)]
        assert {(case.table, case.family) for case in beginning} >= set(pairs())
        for values, key in ((CS, "C"), (POWERS, "p"), (STRUCTURES, "structure")):
            met = Counter(getattr(case, key) for case in beginning)
            assert all(abs(met[value] - len(beginning) / len(values)) <= 6 for value in values), met


def test_a_third_of_the_tables_is_kept_out_with_all_that_shares_their_numbers() -> None:
    sources = {source_of(name) for name in (*TABLES, *LARGE)}
    assert len(HELD_OUT) == pytest.approx(len(sources) / 3, abs=1) and sources > HELD_OUT
    assert len({case.held_out for case in full_grid() if source_of(case.table) == "digits"}) == 1


@pytest.mark.parametrize("name", TABLES)
def test_every_case_has_at_most_64_kernels_and_a_thousand_rows(name: str) -> None:
    table = load(name)
    if table is None:
        pytest.skip("its file is not there")
    assert len(table.y) <= 1000 and np.isfinite(table.X).all()
    assert (name in CATEGORICAL) == (len(table.categorical) >= 4)
    for family in FAMILIES if name in CATEGORICAL else ("widths", "columns"):
        for structure in STRUCTURES:
            spn = drawing(Case(name, family, structure, 1.0, 1.0), table)
            spn.check()
            assert 4 <= len(spn.kernels) <= 64


def test_a_part_of_the_rows_is_repeated_with_the_opposite_label() -> None:
    table = load("contradictory")
    assert table is not None
    rows = {}
    for x, label in zip(map(tuple, table.X), table.y, strict=True):
        rows.setdefault(x, set()).add(label)
    assert sum(len(labels) == 2 for labels in rows.values()) >= 20


def test_units_are_ratios_of_medians_and_a_limit_is_told() -> None:
    trainings = [Took(3.0, 2.0), Took(9.0, 4.0), Took(4.0, 3.0)]
    units = [Took(2.0, 1.0), Took(1.0, 0.5), Took(7.0, 2.0)]
    found = result([ValueError("no")], trainings, units, True, 1e-3, cap=20.0)
    assert (found["seconds"], found["unit"], found["units"], found["processor_units"]) == (4.0, 2.0, 2.0, 3.0)
    assert not found["certified"] and found["status"] == "ValueError: no" and not found["capped"]
    assert result([ValueError("no")], trainings, units, True, 1e-3, cap=4.0)["capped"]


def test_means_and_quantiles() -> None:
    assert geometric_mean([1.0, 10.0, 100.0]) == pytest.approx(10.0, rel=ROUNDING)
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.25, 0.5, 0.51, 1.0)] == [1, 1, 2, 3, 4]
    lines = [line(seconds=0.1), line(seconds=10.0, certified=False, capped=True), line(seconds=1.0)]
    assert summary(lines) == "3 | 2 (66.7 %) | 10.0 | 10.0 | ≥ 100"


def test_the_report_tells_tuning_and_held_out_apart_and_lists_failures() -> None:
    lines = [
        line("a", 1.0),
        line("b", 4.0, held_out=True),
        line("c", 2.0, certified=False, status="stalled", gap=None, C=10.0),
        line("a", 3.0, tol=1e-6),
    ]
    told = report(lines)
    assert "| **tuning** | 2 | 1 (50.0 %) | 14.1 | 15.0 | 20 |" in told
    assert "| **held out** | 1 | 1 (100.0 %) | 40.0 | 40.0 | 40 |" in told
    assert "| C 10.0 | 1 | 0 (0.0 %) | 20.0 | 20.0 | 20 |" in told
    assert "## tol 1e-06" in told and "## Not certified: 1" in told
    assert "c (n 9, 4 kernels, 2 classes): 20.0 units, 2.00 s, stalled, gap none, tol 0.001" in told


def test_versions_are_compared_by_times_above_50_ms_and_by_units() -> None:
    assert time_ratio(line(seconds=0.04), line(seconds=0.001), in_units=False) == 1.0
    assert time_ratio(line(seconds=0.2), line(seconds=0.01), in_units=False) == pytest.approx(4.0, rel=ROUNDING)
    # Twice as slow a machine: the same number of units is no loss.
    assert time_ratio(line(seconds=2, unit=0.2), line(seconds=1), in_units=True) == pytest.approx(1, rel=ROUNDING)
    older = [line("a"), line("b"), line("c", certified=False), line("d"), line("e")]
    newer = [line("a", 1.1), line("b", 2.0), line("c", 9.0), line("d", 0.5, certified=False)]
    told = compared(newer, older)
    assert "4 results in both files; certified before 3, of these now 2; of 1 not certified before now 1." in told
    assert f"| seconds | {geometric_mean([1.1, 2.0, 0.5]):.2f} | 1.10 | 2.00 | 2.00 | 2.00 | 66.7 % | 1 |" in told
    assert "- d (n 9, 4 kernels, 2 classes): 5.0 units, 0.50 s, optimal, gap 1.0e-04, no longer certified" in told


def test_processor_time_takes_the_place_of_elapsed() -> None:
    (found,) = by_processor([line() | {"processor": 0.6, "unit_processor": 0.2, "processor_units": 3.0}])
    assert (found["seconds"], found["unit"], found["units"]) == (0.6, 0.2, 3.0)


def test_a_run_goes_on_where_it_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results.jsonl"
    ask = ["run", "--out", str(out), "--rows", "60", "--repeats", "1", "--tables", "iris", "--tol", "1e-3"]
    suite.main([*ask, "--limit", "2"])
    first = out.read_text(encoding="utf-8").splitlines()
    assert len(first) == 2 and all(json.loads(text)["n"] == 60 for text in first)
    out.write_text(first[0] + "\n" + first[1][:40], encoding="utf-8")  # as after a crash
    suite.main([*ask, "--limit", "3"])
    lines = read(out)
    assert len(lines) == 3 and lines[0] == json.loads(first[0])
    assert all(found["certified"] and math.isfinite(found["units"]) and found["units"] > 0 for found in lines)
    assert "2 measurements" in capsys.readouterr().out
    suite.main(["report", str(out), "--against", str(out)])
    told = capsys.readouterr().out
    assert "| **all** | 3 | 3 (100.0 %) |" in told and "100.0 % | 0 |" in told
    suite.main([*ask, "--seconds", "-1", "--limit", "4"])
    assert len(read(out)) == 3 and "the time is over" in capsys.readouterr().out


def test_a_training_ends_at_its_limit() -> None:
    table = load("counts")
    assert table is not None
    case = Case("counts", "columns", "flat", 1.0, 100.0)
    assert train(suite.posed(case, table), case.C, cap=1e-3, tol=1e-9, n_threads=1).status != "optimal"


def test_a_profile_names_functions_that_exist() -> None:
    sources = (Path(__file__).parents[1] / "spnmkl").rglob("*.py")
    defined = {name for path in sources for name in re.findall(r"def (\w+)", path.read_text(encoding="utf-8"))}
    assert set(STEPS) <= defined
