"""A pipeline and a search of scikit-learn, chosen by a proper score, evaluated on the rest."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import caveat

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
search = GridSearchCV(
    make_pipeline(StandardScaler(), RandomForestClassifier(50, random_state=0)),
    {"randomforestclassifier__min_samples_leaf": [1, 5, 20]},
    scoring=caveat.scorer("brier"),
    cv=3,
).fit(X, y)
print(search.best_params_)

# The trees of the forest are members, also within the pipeline and the search.
evaluation = caveat.evaluate(caveat.from_model(search, X_test), y_test, random_state=0)
print(evaluation.verdict())
