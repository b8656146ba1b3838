"""Rows, conclusions and their outcomes are those of the first version of the studies.

``frozen.json`` was written before studies became declarations: by training on little data, and
from values that were drawn once. Numbers that come from training agree up to the arithmetic of
another machine.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from caveat.experiments import ClassDetection, Curve, Disentanglement
from caveat.studies import STUDIES, disentanglement, fairness, run_study
from caveat.studies.study import Measured, conclusions_of, rows_of, table_of
from caveat.studies.summary import Count

from .disentanglements import SMALL, TINY

FROZEN = json.loads(
    Path(os.environ.get("CAVEAT_FROZEN", Path(__file__).with_name("frozen.json"))).read_text(
        "utf-8"
    )
)
NUMBERS = ("mean", "mean_low", "mean_high", "low", "high", "runs", "within")
EXTRA = {
    "fairness": ("paper_flag", "flagged", "symmetric_flagged", "agreeing", "agreement"),
    "disentanglement": ("spread", "paper_spread", "differs"),
}


def close(ours, frozen, tolerance):
    if frozen is None and isinstance(ours, float):
        return np.isnan(ours)
    if isinstance(frozen, float):
        return ours == pytest.approx(frozen, rel=tolerance, abs=tolerance)
    return ours == frozen


def completed(key, study):
    """Return a stored key with the defaults of the factors that studies have got since."""
    source, *factors, measure = key
    return source, *factors, *(default for _, default in study.defaults()[len(factors) :]), measure


def compare(study, rows, conclusions, frozen, tolerance):
    names = ("source", *study.row.factors, "measure")
    ours = {tuple(getattr(row, name) for name in names): row for row in rows}
    for key, printed, numbers, extra in frozen["rows"]:
        row = ours[completed(key, study)]
        assert row.printed == printed
        fields = dict(zip(NUMBERS, numbers, strict=True))
        if study.name == "disentanglement":
            # The range of one more run was empty for correlations, and is there for all others.
            fields = {name: fields[name] for name in ("mean", "mean_low", "mean_high", "runs")}
        fields |= dict(zip(EXTRA[study.name], extra, strict=True))
        for name, value in fields.items():
            assert close(getattr(row, name), value, tolerance), (key, name, value)
    made = {(one.source, one.text): (one.holds, one.runs, one.support) for one in conclusions}
    assert made == {
        (s, t): (holds, runs, support) for s, t, holds, runs, support in frozen["conclusions"]
    }


@pytest.mark.parametrize("name", [n for n in FROZEN["stored"] if n.startswith("fairness")])
def test_fairness_from_stored_values(name):
    frozen, study = FROZEN["stored"][name], STUDIES["fairness"]
    values = {
        completed(key, study): np.array([np.nan if v is None else v for v in numbers])
        for key, numbers in frozen["values"]
    }
    counts = {completed(key, study): Count.exactly(count) for key, count in frozen["counts"]}
    values |= {key: np.array([count.mean]) for key, count in counts.items()}
    dataset = name.split(", ")[1]
    found = Measured(
        dataset, "", "", 7, values, counts, lambda source: not source.endswith(fairness.EXPECTED)
    )
    rows, table = rows_of(study, found, 0.9), table_of(study, found)
    assert len(rows) == len(frozen["rows"])
    compare(study, rows, conclusions_of(study, table, 0.9), frozen, 1e-8)


def drawn(names, seed, repeats=3):
    """Return sweeps that were drawn once: sizes, then noise, for each decomposition."""
    rng = np.random.default_rng(seed)
    curves = []
    for name in names:
        up = np.sort(rng.random((repeats, 5)), axis=1)
        down = np.sort(rng.random((repeats, 4)), axis=1)[:, ::-1]
        parts = rng.random((2, repeats, 5)) + [[[1]], [[-1]]] * up + 1
        curves.append(Curve("size", name, [0.05, 0.1, 0.2, 0.5, 1], up, *parts))
        parts = rng.random((2, repeats, 4)) + [[[-1]], [[0.5]]] * down + 1
        curves.append(Curve("noise", name, [0, 0.3, 0.6, 1], down, *parts))
    return Disentanglement(curves=tuple(curves))


@pytest.mark.parametrize("name", [n for n in FROZEN["stored"] if n.startswith("dis")])
def test_disentanglement_from_drawn_curves(name):
    sweeps, detections = {}, {}
    for i, method in enumerate(("mc-dropout", "dropconnect", "flipout", "deep-ensemble")):
        own = disentanglement.THREE if method == "deep-ensemble" else ("information",)
        sweeps[method, "gaussian_logits"] = drawn(("gaussian_logits",), 2 * i)
        sweeps[method, "information"] = drawn(own, 2 * i + 1)
        for split in ("gaussian_logits", "information"):
            for k, scaling in enumerate(("scaled within", "scaled by all")):
                auc = np.random.default_rng(100 + 10 * i + k).random((1, 3, 3, 3))
                result = ClassDetection((0, 1, 2), (split,), 0.5 + 0.5 * auc)
                detections[method, split, scaling] = result
    by_rate = {0.1: drawn(("information",), 50), 0.5: drawn(("information",), 51)}
    values, summaries = disentanglement.values_of(sweeps, detections, by_rate, (), 0.9)
    study = STUDIES["disentanglement"]
    found = Measured(
        name.split(", ")[1], "", "", 3, values, summaries, lambda source: source != "table 3"
    )
    rows, table = rows_of(study, found, 0.9), table_of(study, found)
    frozen = FROZEN["stored"][name]
    compare(study, rows, conclusions_of(study, table, 0.9), frozen, 1e-8)


def trained(name):
    if name.startswith("sd"):
        return run_study("fairness", name, repeats=4, random_state=0)
    options = {"random_state": 0, "protocol": TINY, "settings": SMALL}
    if name == "wine":
        options |= {"methods": ["deep-ensemble", "mc-dropout"], "dropout_rates": (0.5, 0.2)}
    else:
        options |= {"methods": "deep-ensemble", "decompositions": "information"}
    return run_study("disentanglement", name, **options)


@pytest.mark.parametrize("name", FROZEN["runs"])
def test_small_runs(name, monkeypatch):
    monkeypatch.setattr(fairness, "LARGE", 100)
    monkeypatch.setattr(disentanglement, "SIDE", {"quick": 6})
    result = trained(name)
    compare(result.study, result.rows, result.conclusions, FROZEN["runs"][name], 2e-3)
