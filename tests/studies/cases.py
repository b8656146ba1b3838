"""Small tables in the form of the public ones, and models that say what they are told."""

import numpy as np

import caveat

COMPAS_HEAD = (
    "sex,age_cat,race,priors_count,c_charge_degree,"
    "days_b_screening_arrest,is_recid,score_text,two_year_recid"
)


def write_tables(folder, rows=240):
    """Write both public tables with random people."""
    rng = np.random.default_rng(0)
    (folder / "compas").mkdir()
    (folder / "adult").mkdir()

    def pick(*values):
        return rng.choice(values)

    lines = [COMPAS_HEAD]
    for _ in range(rows):
        priors = int(rng.integers(0, 9))
        again = int(rng.random() < 0.1 + 0.1 * priors)
        person = (
            pick("Male", "Female"),
            pick("Less than 25", "25 - 45", "Greater than 45"),
            pick("African-American", "Caucasian", "Other"),
        )
        lines.append(",".join(person) + f",{priors},{pick('F', 'M')},0,{again},Low,{again}")
    (folder / "compas" / "compas-scores-two-years.csv").write_text("\n".join(lines))

    def adult(end):
        lines = []
        for _ in range(rows):
            hours = int(rng.integers(10, 60))
            income = ">50K" if rng.random() < hours / 70 else "<=50K"
            race, sex = pick("Black", "White"), pick("Female", "Male")
            lines.append(
                f"{rng.integers(18, 70)}, Private, 5, HS-grad, 9, Divorced, Sales, Wife, {race}, "
                f"{sex}, 0, 0, {hours}, {pick('Cuba', 'Peru')}, {income}{end}"
            )
        return "\n".join(lines)

    (folder / "adult" / "adult.data").write_text(adult(""))
    (folder / "adult" / "adult.test").write_text(adult("."))


class Told:
    """A model with a fixed answer for each row of one table."""

    def __init__(self, probabilities):
        self.probabilities = np.asarray(probabilities)

    def predict_distribution(self, X):
        assert len(X) == self.probabilities.shape[1]
        return caveat.Categorical.from_binary(self.probabilities)
