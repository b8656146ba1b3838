import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_tables_are_what_the_registries_say():
    answer = subprocess.run(
        [sys.executable, str(DOCS / "make_tables.py"), "--check"], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
