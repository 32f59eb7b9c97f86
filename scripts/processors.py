"""The numeric tests with other processors' arithmetic: `python scripts/processors.py [--quick] [CORE …]`.

OpenBLAS is told to use the kernels of an older core, numba to compile for any processor of the family. Sums then come
in another order and without fused operations, as on another machine. That the core was taken is asked of threadpoolctl.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORES = {"Nehalem": "sse4_2", "Sandybridge": "avx", "Haswell": "avx2", "SkylakeX": "avx512f"}
NUMERIC = [
    *("tests/solver", "tests/oracle", "tests/circuit", "tests/kernels", "tests/estimator", "tests/training"),
    *("tests/landmarks", "tests/evidence", "tests/importance", "tests/search", "tests/parallel", "tests/study"),
    *("tests/data", "tests/test_inspection.py", "tests/test_lemmas.py", "tests/test_selection.py"),
    *("tests/test_baselines.py", "tests/test_bad_input.py", "tests/test_threads.py", "tests/test_held_out.py"),
    *("tests/test_measures.py", "tests/test_gradient.py"),
]
QUICK = ["tests/oracle", "tests/solver/test_solver_oracles.py", "tests/test_inspection.py", "tests/test_lemmas.py"]
TAKEN = """
import sys, numpy, scipy.linalg, threadpoolctl
found = {lib["architecture"] for lib in threadpoolctl.threadpool_info() if lib["internal_api"] == "openblas"}
sys.exit(0 if found == {sys.argv[1]} else f"asked for {sys.argv[1]}, OpenBLAS took {', '.join(sorted(found))}")
"""


def flags() -> set[str]:
    """What this processor can do; empty where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return next((set(line.split(":")[1].split()) for line in lines if line.startswith("flags")), set())


def available() -> list[str]:
    can = flags()
    return [core for core, needed in CORES.items() if needed in can]


def run(core: str, tests: list[str]) -> bool:
    # The oldest core goes with code for any processor, so that no run is spent on that alone.
    generic = {"NUMBA_CPU_NAME": "generic"} if core == "Nehalem" else {}
    environment = {**os.environ, "OPENBLAS_CORETYPE": core, **generic}
    if subprocess.run([sys.executable, "-c", TAKEN, core], env=environment, cwd=ROOT).returncode:
        return False
    print(f"\n== {core}{', numba for any processor' if generic else ''}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *tests]
    return subprocess.run(command, env=environment, cwd=ROOT).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cores", nargs="*", metavar="CORE", help=f"of {', '.join(CORES)}; default: all this one can")
    parser.add_argument("--quick", action="store_true", help="Nehalem alone, and the tests against oracles alone")
    parser.add_argument("--all", action="store_true", help="every test but those in a browser")
    options = parser.parse_args()
    can = available()
    if not can and not options.cores:
        print("Skipped: this processor is none that OpenBLAS could take for an older one of its family.")
        return
    cores = options.cores or (["Nehalem"] if options.quick else can)
    tests = QUICK if options.quick else ["tests", "--ignore=tests/browser"] if options.all else NUMERIC
    results = {core: run(core, tests) for core in cores}
    print("\n".join(f"{core}: {'passed' if passed else 'FAILED'}" for core, passed in results.items()))
    sys.exit(0 if all(results.values()) else 1)


if __name__ == "__main__":
    main()
