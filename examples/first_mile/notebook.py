"""What a notebook shows at the end of a cell: the verdict, ten numbers, and the rest folded."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import caveat

X, y = load_breast_cancer(return_X_y=True)
p = cross_val_predict(LogisticRegression(max_iter=5000), X, y, method="predict_proba")
evaluation = caveat.evaluate(p, y, random_state=0)

# In a notebook, `evaluation` as the last line of a cell is enough.
Path("cell.html").write_text(evaluation._repr_html_(), encoding="utf-8")
print(evaluation.prediction[:5])
