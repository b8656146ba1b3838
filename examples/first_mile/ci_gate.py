"""A gate in a pipeline: exit code 3 if the calibration error may be above 5 points."""

import subprocess

import numpy as np
import pandas as pd

# The predictions of last night; yours are there already.
rng = np.random.default_rng(0)
z = rng.normal(size=5000)
y = (rng.random(5000) < 1 / (1 + np.exp(-z))).astype(int)
for name, slope in (("good", 1.0), ("overconfident", 3.0)):
    table = pd.DataFrame({"p": 1 / (1 + np.exp(-slope * z)), "y": y})
    table.to_parquet(f"{name}.parquet")
    gate = ["caveat", "evaluate", f"{name}.parquet", "--fail-if", "ece.high > 0.05", "--json"]
    done = subprocess.run(gate, capture_output=True, text=True, check=False)
    print(f"{name}: exit code {done.returncode}")
