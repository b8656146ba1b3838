"""A file that R's write.csv2 wrote: semicolons, decimal commas, NA and names in Latin-1."""

import subprocess
from pathlib import Path

import numpy as np

# Yours is there already.
rng = np.random.default_rng(0)
z = rng.normal(size=800)
lines = ['"patient";"klinik";"risk";"outcome"']
for i, value in enumerate(z):
    outcome = "NA" if i % 97 == 0 else str(int(rng.random() < 1 / (1 + np.exp(-value))))
    shown = f"{1 / (1 + np.exp(-1.6 * value)):.4f}".replace(".", ",")
    lines.append(f'"{i}";"{"Köln" if i % 3 else "Zürich"}";{shown};{outcome}')
Path("export.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")

subprocess.run(
    ["caveat", "evaluate", "export.csv", "--target", "outcome", "--group", "klinik",
     "--missing", "drop", "--random-state", "0"],
    check=True,
)  # fmt: skip
