"""A browser, and one page of each kind; without a browser nothing here runs."""

import os
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import caveat
from caveat.fairness import audit
from caveat.maps import PredictionMap, map_layers
from caveat.report import write_report

from ..charts.test_drift import changed, weeks
from ..report.disentanglements import result, two_decompositions
from ..report.results import (
    HOSTILE,
    classification,
    comparison,
    hostile_classification,
    regression,
)

BROWSER = os.environ.get("CAVEAT_BROWSER") or shutil.which("chromium")


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not BROWSER:
        pytest.skip("no browser: install chromium, or name one in CAVEAT_BROWSER")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def picture():
    """Keep a picture of a page in the folder CAVEAT_SCREENSHOTS, where it is given."""
    folder = os.environ.get("CAVEAT_SCREENSHOTS")

    def picture(page, name):
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    return picture


@cache
def people(names=("asian", "black", "white"), attribute="race"):
    rng = np.random.default_rng(0)
    n = 600
    race = rng.choice(names, size=n)
    X = rng.normal(size=(n, 2))
    spread = np.where(race == names[1], 0.9, 0.3)
    logit = X[:, 0] + rng.normal(size=(3, n)) * spread
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-logit)))
    groups = {"sex": rng.choice(["f", "m"], size=n), attribute: race}
    return audit(prediction, y, groups, X=X, resamples=60, random_state=0)


def pressures():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(2, 200, 2))
    prediction = caveat.Gaussian(mean, np.ones_like(mean), targets=["sbp", "dbp"])
    y = mean.mean(axis=0) + rng.normal(size=(200, 2))
    return audit(prediction, y, {"sex": rng.choice(["f", "m"], size=200)}, resamples=0)


@cache
def demo():
    """The comparison that ``caveat demo`` makes."""
    from caveat.cli import _demo, _demo_models

    return _demo._compared(_demo_models.digits(0), 0)


@cache
def scene():
    """Layers of a map with everything: classes, truth, measures, kinds and an image."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(0)
    field = np.stack([gaussian_filter(rng.normal(size=(30, 40)), 4) for _ in range(4)], axis=-1)
    logits = 40 * field + 0.3 * rng.normal(size=field.shape)
    pixels = PredictionMap(
        caveat.Categorical.from_logits(
            logits.reshape(-1, 4), classes=["meadow", "forest", "water", "<b>roof</b>"]
        ),
        grid=(30, 40),
        coordinates={"y": 100.0 + np.arange(30), "x": 200.0 + np.arange(40)},
    )
    steps = np.arange(4)
    return map_layers(
        pixels, distances=np.abs(steps[:, None] - steps), image=field,
        truth=pixels.prediction.classes[field.argmax(axis=-1)],
    )  # fmt: skip


def gaps():
    whole = scene().pixels
    valid = np.ones((30, 40), bool)
    valid[10:20] = False
    return PredictionMap(whole.prediction.take(np.flatnonzero(valid)), (30, 40), valid)


def numbers_map():
    line, column = np.indices((30, 40))
    mean, spread = 10.0 * column + line, np.where(column < 20, 2.0, 5.0)
    return PredictionMap(caveat.Gaussian.from_std(mean.ravel(), spread.ravel()), grid=(30, 40))


RESULTS = {
    "classification": classification,
    "regression": regression,
    "comparison": comparison,
    "plain": lambda: classification(members=1, resamples=0),
    "hostile": hostile_classification,
    "audit": people,
    "numbers": pressures,
    "hostile-audit": lambda: people(HOSTILE[:3], HOSTILE[1]),
    "trap": lambda: result("trap"),
    "two": two_decompositions,
    "drift": changed,
    "history": weeks,
    "map": scene,
    "map-gaps": gaps,
    "map-numbers": numbers_map,
    "demo": demo,
    "demo-evaluation": lambda: demo().evaluations["forest"],
}


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Return the path of a page by its name; each is made once."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def report(name):
        return write_report(RESULTS[name](), folder / f"{name}.html", source=f"{name}.csv")

    return report
