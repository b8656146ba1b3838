"""Ten million rows go through the command line within a few gigabytes."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

ROWS, BLOCK = 10**7, 10**6

_SCRIPT = """
import resource, sys
from caveat.cli import main
code = main(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.stderr.write(f"peak {peak}\\n")
sys.exit(code)
"""


def test_ten_million_rows(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "large.parquet"
    schema = pa.schema({"p": pa.float64(), "y": pa.int8(), "unused": pa.float64()})
    right = 0
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for _ in range(ROWS // BLOCK):
            p = rng.random(BLOCK)
            y = (rng.random(BLOCK) < p).astype(np.int8)
            right += int(((p > 0.5) == y).sum())
            writer.write_table(pa.table([p, y, rng.random(BLOCK)], schema=schema))
    done = subprocess.run(
        [
            sys.executable, "-c", _SCRIPT, "evaluate", str(path), "--metric", "ece",
            "--metric", "accuracy", "--resamples", "0", "--json",
        ],
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["samples"] == ROWS
    value = {row["metric"]: row["value"] for row in found["rows"] if row["group"] == ""}
    assert value["accuracy_score"] == pytest.approx(right / ROWS, rel=1e-12)
    # Chance alone: each of 15 bins is off by some 0.5 / sqrt(rows in it).
    assert value["expected_calibration_error"] < 5 * 0.5 / np.sqrt(ROWS / 15)
    peak = int(done.stderr.rsplit("peak ", 1)[1]) / 2**20
    print(f"peak memory {peak:.2f} GiB for {ROWS:,} rows")
    assert peak < 4
