"""Who saves is killed at random moments: what was acknowledged is there, and the workspace opens (`make crash`)."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "crash.py"


def test_nothing_acknowledged_is_lost() -> None:
    asked = ["--kills", "10", "--servers", "2", "--seed", "2"]
    done = subprocess.run([sys.executable, str(SCRIPT), *asked], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = re.match(r"(\d+) kills in ([\d,]+) steps; what was acknowledged \(([\d,]+) steps\)", done.stdout)
    assert told is not None and int(told[1]) == 10 and int(told[3].replace(",", "")) >= 10
