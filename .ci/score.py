"""Runs the scorer that lies beside the lab logs and holds its result to a floor that may only rise.

python .ci/score.py ../shared/lab
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FLOORS = {"holds": 0.97, "verdict": 0.99, "type": 0.99, "message": 0.99, "frame": 0.99, "process": 0.99, "rule": 0.97}
WRONG_CERTAIN = 1
"""One label of the lab contradicts its own cause text (0.10.2-kv_mooncake_not_installed)."""


def main() -> int:
    """0 when every floor holds."""
    lab = Path(sys.argv[1])
    scorer = lab.parent / "tools" / "score.py"
    tool = Path(sys.executable).with_name("diagnose")
    with tempfile.NamedTemporaryFile(suffix=".json") as outcome:
        command = [sys.executable, str(scorer), str(lab), "--json", outcome.name]
        command += ["--command", f"{tool} --format json --exit-zero {{log}}"]
        subprocess.run(command, check=False)
        cases = json.loads(Path(outcome.name).read_text())
    failed = []
    for name, floor in FLOORS.items():
        values = [case["holds"] if name == "holds" else case["aspects"].get(name) for case in cases]
        scored = [value for value in values if value is not None]
        share = sum(scored) / len(scored)
        print(f"{name:8} {share:.3f} (floor {floor})")
        if share < floor:
            failed.append(name)
    wrong = sum(case["wrong_certain"] for case in cases)
    print(f"wrong certain {wrong} (at most {WRONG_CERTAIN})")
    return 1 if failed or wrong > WRONG_CERTAIN else 0


if __name__ == "__main__":
    sys.exit(main())
