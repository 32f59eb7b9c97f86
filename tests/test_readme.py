"""The README's first model runs as it stands and prints what the README says (numbers to two digits)."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"\d+\.?\d*(?:e-?\d+)?")


def test_the_first_model(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    said = re.search(r"which prints\n\n```text\n(.*?)```", text, re.DOTALL)
    assert code and said
    exec(compile(code.group(1), str(README), "exec"), {})
    printed = capsys.readouterr().out
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", said.group(1))
    for found, expected in zip(NUMBER.findall(printed), NUMBER.findall(said.group(1)), strict=True):
        if "e" not in expected:
            assert float(found) == pytest.approx(float(expected), rel=1e-2)
