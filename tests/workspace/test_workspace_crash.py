"""Who saves is killed at random moments: what was acknowledged is there, and the workspace opens (`make crash`)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "crash.py"


@pytest.mark.parametrize(("kills", "servers", "seed"), [(6, 1, 1), (4, 2, 2)])
def test_nothing_acknowledged_is_lost(kills: int, servers: int, seed: int) -> None:
    asked = ["--kills", str(kills), "--servers", str(servers), "--seed", str(seed)]
    done = subprocess.run([sys.executable, str(SCRIPT), *asked], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = re.match(r"(\d+) kills in ([\d,]+) steps; what was acknowledged \(([\d,]+) steps\)", done.stdout)
    assert told is not None and int(told[1]) == kills and int(told[3].replace(",", "")) >= kills
