"""Who draws, or asks for help, does not wait for numpy; who trains waits for what training needs."""

import subprocess
import sys

import pytest

import spnmkl
from spnmkl import solvers
from spnmkl.cli import arguments
from spnmkl.cli import commands as cli

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "networkx", "altair", "streamlit")
DOOR = "from contextlib import suppress\nfrom spnmkl.__main__ import main\n"


def heavy_after(program: str) -> set[str]:
    """The heavy packages that a fresh Python has loaded after these lines."""
    told = f"{program}\nimport sys\nprint('loaded', *(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "program",
    [
        "import spnmkl",
        "from spnmkl import SPN, Kernel, Product, Sum, templates\n"
        "spn = templates.figure1()\nspn.formula()\nSPN.from_json(spn.to_json()).check()",
        "from spnmkl import SPNMKLError, StructureError",
        DOOR + "with suppress(SystemExit): main(['--help'])",
        DOOR + "with suppress(SystemExit): main(['fit', '--help'])",
        DOOR + "assert main(['fit', 'data.csv', '--C', 'much']) == 2",
        DOOR + "assert main(['fit', 'data.csv', '--label', 'y', '--out', 'm', '--tolerance', '1']) == 2",
        DOOR + "assert main([]) == 2",
    ],
    ids=[
        "the package",
        "a structure",
        "errors",
        "help",
        "help of a command",
        "a value that is none",
        "an option that is none",
        "no command",
    ],
)
def test_what_needs_no_numbers_loads_none(program: str) -> None:
    assert heavy_after(program) == set()


def test_a_classifier_loads_no_more_than_it_needs() -> None:
    assert heavy_after("from spnmkl import SPNMKLClassifier") <= {"numpy", "scipy", "sklearn", "numba"} | heavy_after(
        "import sklearn.base"
    )


def test_dask_is_asked_for_by_who_asks_for_a_cluster_alone() -> None:
    rooms = "cli.commands", "cli.comparing", "cli.importance", "cli.suggesting", "parallel.elsewhere", "ui.serve"
    program = [
        "import sys",
        "sys.modules |= dict.fromkeys(('dask', 'distributed'))  # as where they are not installed",
        f"import {', '.join(f'spnmkl.{room}' for room in rooms)}",
        "main = spnmkl.cli.commands.main",
        "assert main(['template', 'figure1']) == 0 and main(['cluster', 'slurm', '--', 'compare', 'a.csv']) == 0",
        "assert list(spnmkl.parallel.side_by_side(lambda given, item, place: [given + item], 1, [2])) == [3]",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(program)], capture_output=True, check=True, timeout=120)


def test_parts_are_found_without_being_imported() -> None:
    program = "import spnmkl\nassert spnmkl.inspection.heaviest_paths and spnmkl.structure.SPN is spnmkl.SPN"
    assert "numba" in heavy_after(program)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Kernal'"):
        _ = spnmkl.Kernal
    assert {"SPN", "solve", "inspection"} <= set(dir(spnmkl))


def test_every_public_name_has_a_home() -> None:
    assert sorted([*spnmkl._MODULE, "templates"]) == sorted(spnmkl.__all__)


@pytest.mark.parametrize(
    "line",
    [
        "import spnmkl.templates; figure1 = spnmkl.templates.figure1",
        "import spnmkl; figure1 = spnmkl.templates.figure1",
        "from spnmkl import templates; figure1 = templates.figure1",
        "from spnmkl.templates import figure1",
        "import spnmkl.templates as templates; figure1 = templates.figure1",
    ],
)
def test_templates_are_found_however_they_are_imported(line: str) -> None:
    same = "from spnmkl.structure.templates import figure1 as home; assert figure1 is home"
    assert heavy_after(f"{line}\n{same}") == set()


def test_help_knows_the_commands_and_the_solvers() -> None:
    assert list(cli.COMMANDS) == list(arguments.COMMANDS)
    assert sorted(solvers.SOLVERS) == sorted(arguments.SOLVERS)


def test_a_mistake_before_help_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    from spnmkl.__main__ import main

    assert main(["fit", "--C", "much", "--help"]) == 2
    assert "--C" in capsys.readouterr().err
