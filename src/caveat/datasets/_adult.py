"""The Adult census table."""

import numpy as np

from ._dataset import Dataset, encoded
from ._files import PublicFile, read_table

_SOURCE = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
TRAIN = PublicFile(
    "adult/adult.data",
    f"{_SOURCE}adult/adult.data",
    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
)
TEST = PublicFile(
    "adult/adult.test",
    f"{_SOURCE}adult/adult.test",
    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
)

FEATURES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
]


def load_adult() -> Dataset:
    """Load the Adult census table: who earns more than 50,000 dollars a year?

    Rows with missing values are dropped, which leaves 30,162 rows for training and 15,060 for
    testing, in the split that the table comes with. Categories have a column for each of their
    values, so that there are some 100 features; numbers are as they are, not scaled.

    The files are ``adult/adult.data`` and ``adult/adult.test`` (or ``.xz``) in the folder that
    ``CAVEAT_DATA`` names, or are fetched from the UCI repository.

    Returns
    -------
    Dataset
        Class 1 earns more than 50,000. Groups are by "race", "sex" and "age" (under 25, 25 to 45,
        over 45). ``test`` is the given split.

    References
    ----------
    B. Becker & R. Kohavi (1996). Adult. UCI Machine Learning Repository, doi:10.24432/C5XW20.

    Examples
    --------
    >>> load_adult()  # doctest: +SKIP
    Dataset(45,222 samples, 103 features, groups by race, sex, age, 15,060 held out for testing)
    """
    import pandas as pd

    columns = [*FEATURES, "income"]
    parts = [read_table(file, columns, columns) for file in (TRAIN, TEST)]
    test = np.repeat([False, True], [len(part) for part in parts])
    frame = pd.concat(parts, ignore_index=True)
    complete = ~((frame == "?") | frame.isna()).any(axis=1).to_numpy()
    kept = frame[complete]
    X, names = encoded(kept, FEATURES)
    age = kept["age"].to_numpy()
    groups = {
        "race": kept["race"].to_numpy().astype(str),
        "sex": kept["sex"].to_numpy().astype(str),
        "age": np.select([age < 25, age > 45], ["under 25", "over 45"], "25 to 45"),
    }
    # The labels of the test file end in a full stop.
    y = kept["income"].str.startswith(">50K").to_numpy().astype(np.int64)
    return Dataset(
        X,
        y,
        groups,
        names,
        "Adult (census of the United States, 1994): class 1 earns more than 50,000 dollars a year",
        test[complete],
    )
