"""A browser, and one page of each kind; without a browser nothing here runs."""

import os
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import caveat
from caveat.fairness import audit
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
