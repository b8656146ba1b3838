"""A table of credits and a boosted model: can its risks be used, and for whom not?"""

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.model_selection import train_test_split

import caveat

# A table like that of the German credits; take your own.
rng = np.random.default_rng(0)
table = pd.DataFrame(
    {
        "amount": rng.lognormal(8, 0.8, 3000),
        "months": rng.integers(4, 72, 3000),
        "age": rng.integers(19, 75, 3000),
        "job": pd.Categorical(rng.choice(["unskilled", "skilled", "highly skilled"], 3000)),
        "sex": pd.Categorical(rng.choice(["female", "male"], 3000, p=[0.3, 0.7])),
    }
)
risk = -3 + table["months"] / 24 + 0.4 * np.log(table["amount"] / 3000) - (table["age"] - 45) / 40
defaulted = np.where(rng.random(3000) < 1 / (1 + np.exp(-risk)), "bad", "good")

train, test, y_train, y = train_test_split(table, defaulted, test_size=0.5, random_state=0)
model = LGBMClassifier(n_estimators=300, verbose=-1, random_state=0).fit(train, y_train)

prediction = caveat.from_model(model, test)
evaluation = caveat.evaluate(prediction, y, groups=test[["sex"]], random_state=0)
print(evaluation.verdict())
print(caveat.audit(prediction, y, test[["sex"]], positive="good", random_state=0).verdict())
evaluation.report("credit.html")
