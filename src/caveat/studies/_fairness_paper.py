"""What "Uncertainty as a fairness measure" prints, and where it contradicts itself."""

from dataclasses import dataclass

THRESHOLD = 0.2
"""A ratio F is called unfair if \\|F - 1\\| is above it."""

ODDS = "equalized_odds_as_printed"
POINT = ("statistical_parity", "equal_opportunity", ODDS, "equal_accuracy")
UNCERTAIN = ("epistemic_uncertainty", "aleatoric_uncertainty", "predictive_uncertainty")
RATES = (
    "accuracy",
    "positive_predictive_value",
    "negative_predictive_value",
    "false_positive_rate",
    "false_negative_rate",
)
OURS = ("false_negative_rate", "equalized_odds")
"""Ratios that the paper does not print."""


@dataclass(frozen=True)
class Attribute:
    """Two groups that are compared, as the data calls them, and others that are shown.

    ``groups`` has the printed numbers of each group in the order of `RATES` and `UNCERTAIN`,
    ``ratios`` in that of `POINT` and `UNCERTAIN`; ``sizes`` and ``labels`` count samples.
    """

    name: str
    minority: str
    majority: str
    source: str
    groups: dict[str, str]
    ratios: str
    sizes: dict[str, str]
    labels: dict[str, str]

    def printed(self) -> dict[tuple[str, str, str], str]:
        """Return every printed number by group, reference and measure."""
        found = {}
        for group, numbers in self.groups.items():
            for measure, text in zip((*RATES, *UNCERTAIN), numbers.split(), strict=True):
                found[group, "", measure] = text
        for measure, text in zip((*POINT, *UNCERTAIN), self.ratios.split(), strict=True):
            found[self.minority, self.majority, measure] = text
        return found | {(group, "", measure): text for group, measure, _, text in self.counts()}

    def counts(self) -> list[tuple[str, str, int | None, str]]:
        """Return the printed sizes: group, measure, class (None is all), and the number."""
        found = [(group, "samples", None, text) for group, text in self.sizes.items()]
        return found + [
            (group, f"samples of class {label}", label, text)
            for group, both in self.labels.items()
            for label, text in enumerate(both.split())
        ]


@dataclass(frozen=True)
class Experiment:
    """One data set of the paper."""

    title: str
    preset: str
    attributes: tuple[Attribute, ...]
    figure: str
    notes: tuple[str, ...]


def _synthetic(zero: str, one: str, ratios: str) -> tuple[Attribute, ...]:
    groups = {"0": zero, "1": one}
    return (Attribute("group", "0", "1", "table 1", groups, ratios, {}, {}),)


_EVERYWHERE = (
    "Equal opportunity is defined there by false negative rates (equation 24), but every table "
    "prints the ratio of true positive rates, and so does this one.",
    "Equalized odds as printed is (FPR0 / FPR1) / (TPR0 / TPR1). It is 1 for a model that is "
    "biased by the same factor in both rates, so it is no measure of fairness; "
    "equalized_odds is the one of the two ratios that is farther from 1.",
    "The positive predictive value is TP / (TP + FP); TP / (TP + FN) is printed.",
    "The scales 0 and 6 of the prior are read as -log(sigma): 1 and exp(-6).",
)
_SYNTHETIC = (
    "320 samples with a fifth for testing are 100 of each group and class: 320 to learn from, 80 "
    "to test with. Rows under 'in expectation' are of the same networks on 40,000 new samples.",
)

EXPERIMENTS = {
    "sd1": Experiment(
        "SD1: group 0 lies close to the boundary between the classes",
        "synthetic-fairness",
        _synthetic(
            "0.95 0.95 0.94 0.06 0.05 0.0001 0.4926 0.4927",
            "0.95 0.90 0.95 0.05 0.05 0.0001 0.1053 0.1054",
            "1.07 1.00 1.05 1.00 1.01 4.68 4.67",
        ),
        "",
        (
            "Group 0 is printed with its labels mirrored against those of group 1, which no linear "
            "model can learn together; here class 1 is on the same side in both.",
            *_SYNTHETIC,
            *_EVERYWHERE,
        ),
    ),
    "sd2": Experiment(
        "SD2: group 0 is spread widely, group 1 lies in two dense clouds",
        "synthetic-fairness",
        _synthetic(
            "0.95 0.95 0.94 0.05 0.05 0.0011 0.1915 0.1926",
            "0.95 0.95 0.94 0.06 0.05 0.0004 0.2193 0.2197",
            "1.00 1.00 0.95 1.00 2.75 0.87 0.88",
        ),
        "",
        (
            "The covariance [5, 1; 5, 1] is read as [5, 1; 1, 5].",
            "The best linear rule errs in 10.7 % of group 0 and in 0.003 % of group 1: error "
            "rates of 5 % in both groups cannot come from the printed distributions.",
            "The text has 275 for the epistemic ratio, the table 2.75.",
            *_SYNTHETIC,
            *_EVERYWHERE,
        ),
    ),
    "sd3": Experiment(
        "SD3: the classes of group 0 overlap more than those of group 1",
        "synthetic-fairness",
        _synthetic(
            "0.74 0.62 0.93 0.38 0.07 0.0002 0.3349 0.3351",
            "0.93 0.96 0.91 0.04 0.08 0.0002 0.3229 0.3231",
            "1.17 1.01 7.90 0.79 1.05 1.04 1.04",
        ),
        "",
        (
            "The covariance [5, 3; 5, 3] is read as [5, 3; 3, 5].",
            "The best linear rule errs in 18.6 % of group 0 and 6.7 % of group 1, which is a ratio "
            "of accuracies of 0.87.",
            "Equalized odds of 7.90 need a false positive rate of group 1 that rounds to 0.05, not "
            "0.04: some printed digits are cut off, not rounded.",
            *_SYNTHETIC,
            *_EVERYWHERE,
        ),
    ),
    "compas": Experiment(
        "COMPAS: who was charged again within two years",
        "compas",
        (
            Attribute(
                "race",
                "African-American",
                "Caucasian",
                "tables 2, 3",
                {
                    "African-American": "0.70 0.69 0.72 0.34 0.25 0.0006 0.2299 0.2305",
                    "Caucasian": "0.68 0.68 0.68 0.10 0.66 0.0004 0.1578 0.1583",
                },
                "2.84 2.19 1.57 1.03 1.55 1.46 1.46",
                {"African-American": "3175", "Caucasian": "2103"},
                {"African-American": "1514 1661", "Caucasian": "1281 822"},
            ),
            Attribute(
                "sex",
                "Female",
                "Male",
                "tables 2, 3",
                {
                    "Female": "0.77 0.70 0.78 0.05 0.67 0.0003 0.1599 0.1602",
                    "Male": "0.68 0.68 0.68 0.25 0.39 0.0006 0.2053 0.2059",
                },
                "0.31 0.54 0.40 1.13 0.50 0.78 0.78",
                {"Female": "1175", "Male": "4997"},
                {"Female": "762 413", "Male": "2601 2396"},
            ),
            Attribute(
                "age",
                "Less than 25",
                "Greater than 45",
                "table 3",
                {
                    "Less than 25": "0.64 0.64 0.63 0.41 0.32 0.0010 0.3459 0.3469",
                    "25 - 45": "0.71 0.72 0.70 0.18 0.44 0.0005 0.1712 0.1717",
                    "Greater than 45": "0.75 0.64 0.78 0.12 0.54 0.0002 0.1027 0.1029",
                },
                "2.44 1.48 2.37 0.85 4.35 3.36 3.37",
                {"Less than 25": "1347", "25 - 45": "3532", "Greater than 45": "1293"},
                {},
            ),
        ),
        "figure 4",
        (
            "Half of the rows, drawn anew for each run, are for testing; sample sizes are of all.",
            "Neighbors are the 5 nearest by all standardized features; neither number nor scale "
            "is given. The outcome of a sample is the class predicted for it.",
            *_EVERYWHERE,
        ),
    ),
    "adult": Experiment(
        "Adult: who earns more than 50,000 dollars a year",
        "adult",
        (
            Attribute(
                "race",
                "Black",
                "White",
                "table 5",
                {
                    "Black": "0.86 0.40 0.91 0.07 0.67 0.0001 0.01 0.0007",
                    "White": "0.77 0.60 0.79 0.07 0.69 6e-7 0.01 0.0004",
                },
                "0.75 1.08 0.87 1.12 151 1.00 1.49",
                {"Black": "2,817", "White": "25,933"},
                {"Black": "2451 366", "White": "19094 6839"},
            ),
            Attribute(
                "sex",
                "Female",
                "Male",
                "table 5",
                {
                    "Female": "0.87 0.39 0.91 0.06 0.68 0.0001 0.01 0.0008",
                    "Male": "0.73 0.64 0.75 0.08 0.69 6e-8 0.01 0.0003",
                },
                "0.62 1.04 0.79 1.18 521 1.00 2.65",
                {"Female": "9,872", "Male": "20,380"},
                {"Female": "8670 1112", "Male": "13984 6396"},
            ),
        ),
        "figure 5",
        (
            "Predictive uncertainties of 0.0003 to 0.0008 beside aleatoric ones of 0.01 are "
            "impossible: the predictive one is the sum of both parts.",
            "0.0001 / 6e-8 is 1,667, not 521.",
            "9,872 women are 9,782: 8,670 and 1,112 in table 4.",
            "'No hidden layer where the intermediate size is 25' is read as one layer of 25 units.",
            "Sample sizes are of the training set; all else is of the test set that is given.",
            "Features are standardized here; whether they were there is not said. "
            "standardize=False gives small aleatoric uncertainties as printed, but neither the "
            "printed accuracies nor the printed epistemic uncertainties.",
            "Neighbors are the 5 nearest by all standardized features; neither number nor scale "
            "is given. The outcome of a sample is the class predicted for it.",
            *_EVERYWHERE,
        ),
    ),
}
