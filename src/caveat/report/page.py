"""One page as one text: template, style, scripts and the rule that nothing may leave it."""

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from .content import Page

if TYPE_CHECKING:
    from jinja2 import Environment


def asset(name: str) -> str:
    """Return a file that comes with this package."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def render(page: Page) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    from .. import __version__

    # A browser reads every line ending as one; the hash must be of what it reads.
    scripts = [text.replace("\r\n", "\n") for text in (get_plotlyjs(), asset("report.js"))]
    plotly, script = (Markup(text) for text in scripts)
    return _environment().get_template("page.html.j2").render(
        page=page,
        title=page.title,
        version=__version__,
        policy=_policy(scripts),
        style=Markup(asset("report.css")),
        plotly=plotly,
        script=script,
    )  # fmt: skip


def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def _policy(scripts: list[str]) -> str:
    """The content security policy: these two scripts run, and nothing is fetched or sent."""
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
