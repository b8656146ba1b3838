"""Run a study: check what is asked, measure it, and put the printed numbers beside ours."""

from pathlib import Path
from time import perf_counter
from typing import Any

from .._random import RandomState, generator
from .._registry import Registry
from .._validation import check_choice, check_fraction, check_integer
from ..exceptions import OptionError
from ..experiments.checkpoint import check_seed
from .averages import AVERAGES
from .disentanglement import DISENTANGLEMENT
from .fairness import FAIRNESS
from .measures import STUDY as MEASURES
from .molecules import MOLECULES_STUDY
from .ppg import PPG
from .pretrained import PRETRAINED
from .result import StudyResult
from .study import Study, Task, check_known, conclusions_of, rows_of, table_of
from .tables import TABLES

STUDIES: Registry[Study] = Registry(
    "study",
    [DISENTANGLEMENT, AVERAGES, FAIRNESS, MEASURES, MOLECULES_STUDY, PPG, PRETRAINED, TABLES],
)
"""All studies by name; a new one is one line here."""

SCALES = ("quick", "paper")

_OWN = ("scale", "repeats", "random_state", "confidence", "checkpoint", "progress")
"""Parameters of `run_study` itself, to be suggested beside the options of a study."""


def run_study(
    study: str | Study,
    dataset: Any,
    *,
    scale: str = "quick",
    repeats: int | None = None,
    random_state: RandomState = None,
    confidence: float = 0.95,
    checkpoint: Any = None,
    progress: bool = False,
    **options: Any,
) -> StudyResult:
    """Run a published experiment again, several times, and put the printed numbers beside ours.

    Parameters
    ----------
    study : str or Study
        A name in ``caveat.studies.STUDIES`` ("disentanglement",
        "disentanglement-averages", "fairness", "measures", "molecules", "ppg", "pretrained",
        "tables"), or a study of your own.
    dataset : str, path or list of str
        A data set of the paper. Public data are read from ``CAVEAT_DATA`` or fetched; see
        `caveat.datasets`. Some studies take a table file as well, some take several data sets: a
        list, or names with commas between them.
    scale : {"quick", "paper"}, default="quick"
        "quick" takes a CPU minutes. "paper" is the whole experiment.
    repeats : int, optional
        How many runs, each with its own seed; the study has a default.
    checkpoint : path, optional
        A folder from which a stopped study continues; needs an integer as ``random_state``.
    progress : bool, default=False
        Whether to show progress bars.
    **options
        Options of this study, which ``STUDIES[study].options`` lists.

    Examples
    --------
    >>> result = run_study(
    ...     "disentanglement", "wine", methods="mc-dropout", repeats=2, random_state=0,
    ...     detection=False, settings={"epochs": 2, "passes": 5},
    ... )
    >>> [(row.decomposition, row.printed) for row in result.select(source="table 2")]
    [('gaussian_logits', '0.778'), ('information', '0.645')]
    """
    started = perf_counter()
    declared = study if isinstance(study, Study) else STUDIES[study]
    check_choice(scale, "scale", SCALES)
    confidence = check_fraction(confidence, "confidence")
    if repeats is not None:
        repeats = check_integer(repeats, "repeats")
    folder = _checked_folder(checkpoint, random_state)
    known = {option.name: option.default for option in declared.options}
    check_known(options, [*known, *_OWN], f"study {declared.name!r} has no option")
    dataset = _checked_dataset(declared, dataset)
    rng = generator(random_state)
    task = Task(dataset, scale, repeats, rng, confidence, folder, progress, known | options)
    measured = declared.measure(task)
    table = table_of(declared, measured)
    own = declared.paper.datasets.get(measured.dataset, {})
    return StudyResult(
        study=declared, dataset=measured.dataset, title=measured.title, scale=scale, table=table,
        rows=tuple(rows_of(declared, measured, confidence)), details=measured.details,
        model=measured.model, conclusions=tuple(conclusions_of(declared, table, confidence)),
        notes=(*own.get("notes", ()), *measured.notes, *declared.paper.notes),
        repeats=measured.repeats, confidence=confidence, seconds=perf_counter() - started,
    )  # fmt: skip


def _checked_dataset(study: Study, dataset: Any) -> Any:
    if study.several:
        parts = dataset.split(",") if isinstance(dataset, str) else list(dataset)
        given = [part.strip() if isinstance(part, str) else part for part in parts]
        check_known(given, study.datasets, "there is no data set")
        return tuple(dict.fromkeys(given))
    known = isinstance(dataset, str) and dataset in study.datasets
    if known or (study.takes_files and isinstance(dataset, str | Path) and Path(dataset).suffix):
        return dataset
    names = ", ".join(study.datasets) + (", or a table file" if study.takes_files else "")
    raise OptionError(f"dataset must be one of {names}; got {str(dataset)!r}")


def _checked_folder(checkpoint: Any, random_state: Any) -> Path | None:
    check_seed(checkpoint, random_state)
    if checkpoint is None:
        return None
    if Path(checkpoint).is_file():
        raise OptionError(f"checkpoint {str(checkpoint)!r} is a file; name a folder")
    return Path(checkpoint)
