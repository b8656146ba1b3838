"""What `run_disentanglement_study` returns."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from ..exceptions import OptionError
from ..experiments import ClassDetection, Disentanglement
from ..experiments.error import TERMS
from ..results.tables import ShownTable, number, plain
from ._disentanglement_conclusions import words_of
from ._disentanglement_paper import METHODS
from ._disentanglement_pictures import FeatureSpace
from ._disentanglement_rows import ERROR, SCALINGS, DisentanglementRunRow, table_4
from ._table import Conclusion, PaperTable

HEADER = ("method", "split", "of", "paper", "ours", "interval", "differs")
_SYMBOLS = {
    "aleatoric_consistency": "rho(u_a, U_a)",
    "epistemic_consistency": "rho(u_e, U_e)",
    "aleatoric_orthogonality": "rho(u_a, U_e)",
    "epistemic_orthogonality": "rho(u_e, U_a)",
}
_TITLES = {
    "table 2": "the error (UDE) by method and split",
    "table 3": "three splits of the same deep ensemble; the paper's is of ImageNet-1k",
    **{table_4(name): "ROC AUC of finding a class that was left out" for name in SCALINGS},
    "table 5": "correlations of mean curves as samples get fewer",
    "table 6": "correlations of mean curves as labels get noisier",
    "figure 6": "terms of the error",
    "figure 8": "MC-Dropout by its rate",
    "figure 9": "the error of the deep ensemble from fewer levels",
}
_SETTINGS = {"figure 8": "rate {}", "figure 9": "{} levels"}


@dataclass(frozen=True, repr=False, eq=False)
class DisentanglementStudy(PaperTable[DisentanglementRunRow]):
    """The disentanglement experiments on one data set: the paper's numbers beside ours.

    Attributes
    ----------
    dataset, title : str
    scale : {"quick", "paper"}
    rows : tuple of DisentanglementRunRow
        One number each; `to_frame` gives them as a table.
    sweeps : mapping of (method, split) to Disentanglement
        The curves of figures 3 and 4, and all that was measured along them.
    detections : mapping of (method, split, scaling) to ClassDetection
        What table 4 is made of; ``scaling`` is "within", "all", or empty for images.
    rates : mapping of float to Disentanglement
        MC-Dropout by its rate: figure 8.
    pictures : tuple of FeatureSpace
        Of two features: figures 5, 10 and 11.
    conclusions : tuple of Conclusion
        What the paper says, and how many runs agree; a run is a method in one repeat.
    notes : tuple of str
        What was read how, and where the paper contradicts itself.
    repeats : int
    confidence : float
    seconds : float

    Examples
    --------
    >>> from caveat.studies import run_disentanglement_study
    >>> study = run_disentanglement_study(
    ...     "wine", methods="dropconnect", decompositions="information", repeats=2,
    ...     random_state=0, detection=False, settings={"epochs": 2, "passes": 5},
    ... )
    >>> (row,) = study.select(source="table 2")
    >>> row.printed, row.paper_spread
    ('0.373', 0.07)
    """

    row_type: ClassVar[Any] = DisentanglementRunRow
    dataset: str
    title: str
    scale: str
    rows: tuple[DisentanglementRunRow, ...]
    sweeps: Mapping[tuple[str, str], Disentanglement]
    detections: Mapping[tuple[str, str, str], ClassDetection]
    rates: Mapping[float, Disentanglement]
    pictures: tuple[FeatureSpace, ...]
    conclusions: tuple[Conclusion, ...]
    notes: tuple[str, ...]
    repeats: int
    confidence: float
    seconds: float

    @property
    def description(self) -> str:
        """What was done, in one line."""
        first = next(iter(self.sweeps.values()))
        trained = {id(result): result.cost.trainings for result in self.sweeps.values()}
        every = f"{self.repeats} repeat{'s' if self.repeats > 1 else ''}"
        return (
            f"{self.title}; {first.samples:,} samples to learn from, {first.test_samples:,} to "
            f"test on, {every}, {sum(trained.values()):,} trainings"
        )

    @property
    def differences(self) -> list[DisentanglementRunRow]:
        """The rows that are farther from the paper's number than two spreads."""
        return [row for row in self.rows if row.differs]

    def sweep(self, method: str, decomposition: str) -> Disentanglement:
        """Return the curves of a method and a split."""
        if (method, decomposition) not in self.sweeps:
            known = "; ".join(", ".join(key) for key in self.sweeps)
            raise OptionError(
                f"the study has no {decomposition!r} of {method!r}; it has method and "
                f"decomposition: {known}"
            )
        return self.sweeps[method, decomposition]

    def to_json(self) -> str:
        """Return all of it but the pictures as one JSON object; NaN becomes null."""
        trained = {id(result): result for result in self.sweeps.values()}
        return json.dumps(
            {
                "dataset": self.dataset,
                "title": self.title,
                "scale": self.scale,
                "repeats": self.repeats,
                "confidence": self.confidence,
                "seconds": self.seconds,
                "rows": [{k: plain(v) for k, v in asdict(row).items()} for row in self.rows],
                "conclusions": [asdict(conclusion) for conclusion in self.conclusions],
                "notes": list(self.notes),
                "sweeps": [
                    {
                        "method": next(m for (m, _), r in self.sweeps.items() if r is result),
                        "result": json.loads(result.to_json()),
                    }
                    for result in trained.values()
                ],
            }
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the numbers are printed, in the order of the tables."""
        return tuple(dict.fromkeys(row.source for row in self.rows))

    def tables(self) -> list[ShownTable]:
        """Return what is shown: for each source a title, a header and lines of text."""
        found: list[ShownTable] = []
        for source in self.sources:
            rows = self.matching(source=source)
            title = f"{source}: {_TITLES[source]}"
            found.append((title, HEADER, [[*self.names(row), *_line(row)] for row in rows]))
        return found

    def names(self, row: DisentanglementRunRow) -> tuple[str, str, str]:
        """Return the method, the split and the measure of a row, for a reader."""
        return METHODS[row.method], words_of(row.decomposition), measure_words(row)

    def kinds(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the figures that `plot` can draw of it: their kinds and options."""
        from ._disentanglement_plots import kinds_of

        return kinds_of(self)

    def explanation(self) -> str:
        """Say how the columns are to be read."""
        return (
            f"ours: the mean of {self.repeats} repeats with its standard deviation, of tables 5 "
            f"and 6 the correlation of mean curves; interval: {self.confidence:.0%} of that; "
            "differs: whether the paper's number is farther from ours than two spreads, the larger "
            "of both; empty where the experiments are not the same."
        )

    def plot(self, kind: str | None = None, /, **options: Any) -> Any:
        """Draw a figure.

        Parameters
        ----------
        kind : {"errors", "size", "noise", "terms", "rates", "levels", "plane"}, optional
            "errors" (the default): table 2. "size" and "noise": the curves of figures 3 and 4.
            "terms": figure 6. "rates": figure 8. "levels": figure 9. "plane": figures 5, 10 and 11,
            with ``figure=`` to choose one and ``decomposition=``.
        **options
            ``ax=``: Axes to draw in, of "errors", "terms", "rates" and "levels".

        Returns
        -------
        Axes, or an array of them for "size", "noise" and "plane"
        """
        from ._disentanglement_plots import draw

        return draw(self, "errors" if kind is None else kind, **options)

    def report(self, path: Any, *, title: str | None = None) -> Any:
        """Write one HTML page: tables, what survives, and the curves.

        Parameters
        ----------
        path : str or path
        title : str, optional

        Returns
        -------
        Path
        """
        from ._disentanglement_page import write_page

        return write_page(self, path, title)


def _line(row: DisentanglementRunRow) -> list[str]:
    ends = "" if np.isnan(row.mean_low) else f"{number(row.mean_low)} to {number(row.mean_high)}"
    differs = {True: "yes", False: "no", None: ""}[row.differs]
    return [
        _with(row.printed, row.paper_spread),
        _with(f"{row.mean:z.3f}" if row.runs else "undefined", row.spread),
        ends,
        differs,
    ]


def measure_words(row: DisentanglementRunRow) -> str:
    """Return what a row measures, for a reader."""
    name = row.measure
    if name in TERMS:
        correlation = row.source in ("table 5", "table 6")
        name = _SYMBOLS[name] if correlation else f"{TERMS[name].symbol} {name.replace('_', ' ')}"
    setting = _SETTINGS.get(row.source, "").format(row.setting)
    return f"{'error (UDE)' if name == ERROR else name}{f', {setting}' if setting else ''}"


def _with(text: str, spread: float) -> str:
    return text if not text or np.isnan(spread) else f"{text} ± {spread:.3f}"
