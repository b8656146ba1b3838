"""One page as one text: template, style, script and the rule that nothing may leave it."""

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from ..charts.svg import STYLE
from .content import Page

if TYPE_CHECKING:
    from jinja2 import Environment


def asset(name: str) -> str:
    """Return a file that comes with this package."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def render(page: Page) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup

    from .. import __version__

    # A browser reads every line ending as one; the hash must be of what it reads.
    names = ("report", *page.parts)
    script = "\n".join(asset(f"{name}.js") for name in names).replace("\r\n", "\n")
    style = "\n".join(asset(f"{name}.css") for name in names)
    return _environment().get_template("page.html.j2").render(
        page=page,
        title=page.title,
        version=__version__,
        policy=_policy(script),
        style=Markup(style + STYLE),
        script=Markup(script),
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


def _policy(script: str) -> str:
    """The content security policy: this script runs, and nothing is fetched or sent."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
