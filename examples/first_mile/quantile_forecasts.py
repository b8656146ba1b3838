"""Quantile forecasts of several targets in one file, named as forecasting tools name them."""

import numpy as np
import pandas as pd

import caveat

# Yours is there already.
rng = np.random.default_rng(0)
table = {}
for target, scale in (("load", 10.0), ("price", 2.0)):
    center = rng.normal(50, scale, 500)
    table[target] = rng.normal(center, 1.5 * scale / 5)
    for level, z in ((5, -1.645), (50, 0.0), (95, 1.645)):
        table[f"{target}_q{level:02}"] = center + z * scale / 5
pd.DataFrame(table).to_csv("forecasts.csv", index=False)

forecasts = caveat.read_predictions("forecasts.csv", target=["load", "price"])
evaluation = caveat.evaluate(forecasts.prediction, forecasts.y, random_state=0)
print(evaluation.verdict())
for row in evaluation.select(metric="interval_coverage", group=""):
    print(f"{row.target}: {row.value:.0%} of the true values are in the 90 % interval")
