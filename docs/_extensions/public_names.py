"""Links to public names: each object has one page, whatever name it is called by.

What ``import caveat`` offers has its page under that name, ``caveat.evaluate``; everything else under
its module, ``caveat.metrics.brier_loss``. A name that means one thing only needs no module.
"""

import importlib
import inspect
import re
from typing import Any

from numpydoc.xref import DEFAULT_LINKS

import caveat

# A name that several of these have has its page under the first.
MODULES = (
    "charts",
    "confusion",
    "evaluation",
    "evaluation.verdict",
    "exceptions",
    "files",
    "loading",
    "maps",
    "metrics",
    "models",
    "molecules",
    "monitoring",
    "nn",
    "nn.layers",
    "nn.losses",
    "nn.noise",
    "predictions",
    "recalibration",
    "repairing",
    "report",
    "resampling",
    "signals",
    "uncertainty",
)


def pages() -> dict[str, str]:
    """Return the name of the page of each public object, by all the names that it has."""
    found: dict[str, str] = {}
    short: dict[str, set[str]] = {}
    homes: dict[tuple[str, int], str] = {}
    for module in MODULES:
        members = importlib.import_module(f"caveat.{module}")
        for name in members.__all__:
            own = f"caveat.{name}" if name in caveat.__all__ else f"caveat.{module}.{name}"
            page = homes.setdefault((name, id(getattr(members, name))), own)
            found[f"caveat.{module}.{name}"] = page
            short.setdefault(name, set()).add(page)
            if module.endswith(f".{name}"):  # a module that is called like what is in it
                found[f"caveat.{module}"] = page
    return found | {name: min(own) for name, own in short.items() if len(own) == 1}


def same_but_for_case(names: set[str]) -> dict[str, str]:
    """Return file names for classes that differ from a function only in their capitals.

    Some file systems take ``Split`` and ``split`` for the same file.
    """
    lower = [name for name in names if name.lower() == name]
    return {
        name: f"{name}-class" for name in names if name.lower() != name and name.lower() in lower
    }


def find(app: Any, environment: Any, node: Any, content: Any) -> Any:
    """Resolve a reference by another name, or by a short one."""
    target = app.config.public_pages.get(node.get("reftarget"))
    if node.get("refdomain") != "py" or target is None:
        return None
    domain = environment.get_domain("py")
    return domain.resolve_xref(
        environment, node["refdoc"], app.builder, "obj", target, node, content
    )


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to estimators, and Python's methods of text to enums."""
    added = name in ("get_metadata_routing", "set_output")
    routing = name.startswith("set_") and "_request" in name
    of_text = name in vars(str) and (name == "maketrans" or inspect.ismethoddescriptor(value))
    return True if added or routing or of_text else None


def unlink(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn links of inherited methods into pages of scikit-learn's manual to plain words."""
    if getattr(obj, "__module__", "").startswith("sklearn"):
        lines[:] = [re.sub(r":ref:`([^`<]+?)\s*<[^`]*>`", r"\1", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    found = pages()
    app.add_config_value("public_pages", found, "env")
    ours = {name: page for name, page in found.items() if "." not in name and name[0].isupper()}
    # numpydoc would link words such as "bool" to pages of Python's, which are not fetched.
    app.config.numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | ours
    app.config.autosummary_filename_map = same_but_for_case(set(found.values()))
    app.connect("missing-reference", find)
    app.connect("autodoc-process-docstring", unlink)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
