"""The README's first model runs as it stands and prints what the README says, letter by letter."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_first_model(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    said = re.search(r"which prints\n\n```text\n(.*?)```", text, re.DOTALL)
    assert code and said
    exec(compile(code.group(1), str(README), "exec"), {})
    assert capsys.readouterr().out == said.group(1)
