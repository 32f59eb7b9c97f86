"""The command line in a pipe: standard input and output, devices, links."""

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.cli import defaulting
from spnmkl.model_file import load_model

Run = Callable[..., tuple[int, str, str]]
FIT = ("--label", "y", "--C", "10", "--structure", "flat")


def samples(n: int = 40) -> pd.DataFrame:
    X = np.random.default_rng(0).normal(size=(n, 2))
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(X[:, 0] > 0, "yes", "no"))


@pytest.fixture
def folder(folder: Path) -> Path:
    samples().to_csv("data.csv", index=False)
    return folder


def program(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "spnmkl", *arguments], input=given, capture_output=True, check=False)


def test_everything_through_pipes(run: Run, folder: Path) -> None:
    table = (folder / "data.csv").read_bytes()
    assert run("fit", "data.csv", *FIT, "--out", "m.spnmkl")[0] == 0
    expected = run("predict", "m.spnmkl", "data.csv", "--scores")[1]

    fitted = program("fit", "-", *FIT, "--out", "-", given=table)
    assert fitted.returncode == 0 and fitted.stderr.decode().startswith("certified optimal")
    assert len(fitted.stdout) == (folder / "m.spnmkl").stat().st_size
    by_table = program("predict", "m.spnmkl", "-", "--scores", "--out", "-", given=table)
    by_model = program("predict", "-", "data.csv", "--scores", given=fitted.stdout)
    assert by_table.stdout.decode() == by_model.stdout.decode() == expected
    shown = program("inspect", "-", "--json", given=fitted.stdout)
    assert json.loads(shown.stdout)["status"] == "optimal"


def test_a_structure_through_a_pipe(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    structure = run("template", "flat", "--columns", "data.csv", "--label", "y", "--out", "-")[1]
    for arguments in (("validate", "-"), ("fit", "data.csv", "--label", "y", "--out", "m", "--structure", "-")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(structure.encode())))
        assert run(*arguments)[0] == 0
    assert load_model("m").spn_ == SPN.from_json(structure)
    broken = SPN(Sum(Kernel("linear"), Product(Kernel("rbf")))).to_json()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(broken.encode())))
    code, out, err = run("validate", "-", "--repair", "-")
    assert code == 0 and not SPN.from_json(out).validate() and "repaired structure; errors left: 0\n" in err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(samples().to_csv(index=False).encode())))
    assert run("template", "flat", "--columns", "-", "--label", "y")[1] == structure


def device(folder: Path, name: str, minor: int) -> Path:
    """One of our own where that is allowed, as whoever may make one may also destroy the machine's."""
    own = folder / name
    try:
        os.mknod(own, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        own.open("wb").close()
    except OSError:
        own.unlink(missing_ok=True)
        if os.geteuid() == 0:
            pytest.skip("no device can be made here, and the machine's own are not put at risk")
        return Path("/dev") / name
    return own


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
def test_a_device_stays_a_device(run: Run, folder: Path) -> None:
    null, full = device(folder, "null", 3), device(folder, "full", 7)
    run("fit", "data.csv", *FIT, "--out", "m.spnmkl")
    writing = {
        "fit": ("fit", "data.csv", *FIT),
        "predict": ("predict", "m.spnmkl", "data.csv"),
        "template": ("template", "figure1"),
    }
    for arguments in writing.values():
        assert run(*arguments, "--out", null)[0] == 0
        code, out, err = run(*arguments, "--out", full)
        assert (code, out, err.splitlines()[-1]) == (2, "", f"spnmkl: No space left on device: {full}")
        assert null.is_char_device() and full.is_char_device()


def piped(*arguments: str, reader: str = "cat") -> tuple[int, bytes, str]:
    """A command whose standard output is a pipe: its exit code, what the reader got, and what it said."""
    command = [sys.executable, "-m", "spnmkl", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        got = subprocess.run([reader], stdin=process.stdout, capture_output=True).stdout
        process.stdout.close()  # type: ignore[union-attr]
        said = process.stderr.read().decode()  # type: ignore[union-attr]
    return process.returncode, got, said


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no such name")
def test_names_of_standard_output_are_written_to(folder: Path) -> None:
    code, got, said = piped("template", "figure1", "--out", "/dev/stdout")
    assert code == 0, said
    structure, _ = json.JSONDecoder().raw_decode(got.decode())  # what is said of it comes after
    assert SPN.from_dict(structure).kernels


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no such name")
def test_standard_output_that_is_a_file_is_written_to_where_it_stands(run: Run, folder: Path) -> None:
    run("template", "figure1", "--out", "expected.json")
    structure = Path("expected.json").read_text()
    Path("link").symlink_to("/dev/stdout")
    for name in ("/dev/stdout", "/dev/fd/1", "link"):
        with open("out.txt", "w+") as file:
            file.write("before\n")
            file.flush()
            command = [sys.executable, "-m", "spnmkl", "template", "figure1", "--out", name]
            done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True, check=False)
            os.lseek(file.fileno(), 0, os.SEEK_END)
            file.write("after\n")
        assert (done.returncode, done.stderr) == (0, "")
        assert Path("out.txt").read_text() == f"before\n{structure}\nafter\n"
    program = "from spnmkl import writing\n"
    program += (
        "print('first')\nwith writing.replaced('/dev/stdout') as part: part.write_text('second\\n')\nprint('third')"
    )
    with open("out.txt", "w") as file:
        subprocess.run([sys.executable, "-c", program], stdout=file, check=True)
    assert Path("out.txt").read_text() == "first\nsecond\nthird\n"


def test_a_reader_that_leaves_is_no_success(folder: Path) -> None:
    code, _, said = piped("fit", "data.csv", *FIT, "--out", "-", reader="true")
    assert (code, said.splitlines()[-1]) == (
        2,
        "spnmkl: Standard output was closed by its reader before everything was written.",
    )


def test_a_file_keeps_who_may_read_it(run: Run) -> None:
    for mode in (0o600, 0o640):
        Path("m.spnmkl").touch()
        Path("m.spnmkl").chmod(mode)
        assert run("fit", "data.csv", *FIT, "--out", "m.spnmkl")[0] == 0
        assert stat.S_IMODE(Path("m.spnmkl").stat().st_mode) == mode


def test_a_choice_of_C_that_was_cut_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = defaulting.choose_C

    def cut(*given: Any, **more: Any) -> Any:
        found = choose(*given, **more)
        found.scores[0, 1:] = np.nan
        found.scores[-1] = np.nan
        return found

    monkeypatch.setattr(defaulting, "choose_C", cut)
    code, out, _ = run("fit", "data.csv", "--label", "y", "--structure", "flat", "--C", "cv", "--out", "m.spnmkl")
    assert code == 0
    assert "by cross-validation" in out and "; stopped by --max-time after " in out.splitlines()[0]


def test_a_link_leads_to_its_file(run: Run, folder: Path) -> None:
    (folder / "store").mkdir()
    for name in ("there", "not yet"):
        Path(name).symlink_to(folder / "store" / name)
    (folder / "store" / "there").write_text("old")
    for name in ("there", "not yet"):
        assert run("fit", "data.csv", *FIT, "--out", name)[0] == 0
        assert Path(name).is_symlink() and load_model(folder / "store" / name).status_ == "optimal"
    assert sorted(path.name for path in (folder / "store").iterdir()) == ["not yet", "there"]
    Path("same").symlink_to(folder / "data.csv")
    assert run("fit", "data.csv", *FIT, "--out", "same")[0] == 2


@pytest.mark.parametrize("exact", [False, True])
def test_predictions_hold_no_formula_unless_asked(run: Run, folder: Path, exact: bool) -> None:
    frame = pd.read_csv("data.csv")
    label = frame.columns[-1]
    frame[label] = np.where(frame[label] == frame[label].iloc[0], "=1+1", "+")
    frame.to_csv("hostile.csv", index=False)
    asked = ("fit", "hostile.csv", "--label", label, "--structure", "flat", "--out", "m.spnmkl", "--quiet")
    assert run(*asked)[0] == 0
    code, out, _ = run("predict", "m.spnmkl", "hostile.csv", "--scores", *["--exact"] * exact)
    found = pd.read_csv(io.StringIO(out))
    assert code == 0 and set(found["prediction"]) == {"+", "=1+1" if exact else "'=1+1"}
    assert (found.drop(columns="prediction").select_dtypes("number") < 0).to_numpy().any(), "numbers stay numbers"
