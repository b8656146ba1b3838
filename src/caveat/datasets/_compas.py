"""ProPublica's table of COMPAS scores and recidivism within two years."""

import numpy as np

from ._dataset import Dataset, encoded
from ._files import PublicFile, read_table

FILE = PublicFile(
    "compas/compas-scores-two-years.csv",
    "https://raw.githubusercontent.com/propublica/compas-analysis/"
    "bafff5da3f2e45eca6c2d5055faad269defd135a/compas-scores-two-years.csv",
    "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)

_FEATURES = ["age_cat", "race", "sex", "priors_count", "c_charge_degree"]
_FILTERED_BY = ["days_b_screening_arrest", "is_recid", "score_text"]
LABEL = "two_year_recid"


def load_compas() -> Dataset:
    """Load the COMPAS recidivism table: who was charged again within two years?

    ProPublica's filter keeps 6,172 of 7,214 defendants: those whose COMPAS score is within 30 days
    of the arrest, who have a COMPAS case and a score, and who are not there for an ordinary traffic
    offense. The attributes are those of Zafar et al.: age in three classes, race, sex, the number
    of earlier offences (as it is, not scaled) and the degree of the charge. Race and sex are among
    the features as well as among the groups.

    The file is ``compas/compas-scores-two-years.csv`` (or ``.csv.xz``) in the folder that
    ``CAVEAT_DATA`` names, or is fetched from ProPublica's repository.

    Returns
    -------
    Dataset
        Class 1 is a new charge within two years. Groups are by "race", "sex" and "age", in the
        words of the table. There is no given split.

    References
    ----------
    J. Angwin, J. Larson, S. Mattu & L. Kirchner (2016). Machine bias. ProPublica.
    M. B. Zafar, I. Valera, M. Gomez Rodriguez & K. P. Gummadi (2017). Fairness beyond disparate
    treatment & disparate impact. WWW.

    Examples
    --------
    >>> load_compas()  # doctest: +SKIP
    Dataset(6,172 samples, 12 features, groups by race, sex, age, no given split)
    """
    frame = read_table(FILE, None, [*_FEATURES, *_FILTERED_BY, LABEL])
    kept = frame[
        frame["days_b_screening_arrest"].between(-30, 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & frame["score_text"].notna()
    ]
    X, names = encoded(kept, _FEATURES)
    groups = {
        name: kept[column].to_numpy().astype(str)
        for name, column in (("race", "race"), ("sex", "sex"), ("age", "age_cat"))
    }
    return Dataset(
        X,
        kept[LABEL].to_numpy().astype(np.int64),
        groups,
        names,
        "COMPAS (ProPublica, Broward County, Florida, 2013-2014): class 1 was charged with a new "
        "offense within two years",
        np.zeros(len(kept), dtype=bool),
    )
