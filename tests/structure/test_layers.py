"""Data flows one way: a package imports only from packages above it."""

import ast
from pathlib import Path

import caveat

ROOT = Path(caveat.__file__).parent

# Top to bottom; a line may import from the lines above it and from itself.
LAYERS = [
    {"exceptions", "__version__"},
    {
        "_arrays",
        "_blocks",
        "_counting",
        "_defaults",
        "_docstrings",
        "_environment",
        "_random",
        "_registry",
        "_renamed",
        "_writing",
    },
    {"_constructors"},
    {"_validation"},
    {"_groups", "_members", "_parallel", "_probabilities"},
    {"predictions"},
    {"files"},
    {"uncertainty"},
    {"metrics"},
    {"resampling"},
    {"recalibration"},
    {"sequential"},
    {"nn"},
    {"estimators"},
    {"models"},
    {"results"},
    {"risk_control"},
    {"triage"},
    {"evaluation"},
    {"confusion"},
    {"maps"},
    {"summaries"},
    {"repairing"},
    {"loading"},
    {"fairness"},
    {"datasets"},
    {"experiments"},
    {"selection"},
    {"molecules"},
    {"monitoring"},
    {"signals"},
    {"charts"},
    {"report"},
    {"integrations"},
    {"studies"},
    {"cli"},
    {"__main__"},
    {"__init__"},
]

# The only steps back: one-line forwards, imported inside the method.
FORWARDS = {
    ("estimators/_monitoring.py", "questions", "evaluation"),
    ("estimators/files.py", "_holders", "repairing"),
    ("estimators/files.py", "_of_molecules", "molecules"),
    ("estimators/sklearn_models.py", "_own_adapter", "models"),
    ("evaluation/answers.py", "evaluate", "summaries"),
    ("evaluation/comparison.py", "compare", "summaries"),
    ("models/chemprop.py", "_read", "molecules"),
    ("metrics/entry.py", "interval", "resampling"),
    ("predictions/_container.py", "decompose", "uncertainty"),
    ("results/tables.py", "plot", "charts"),
    ("results/tables.py", "report", "report"),
    ("summaries/summary.py", "audit", "fairness"),
}


def layer(package: str) -> int:
    for depth, packages in enumerate(LAYERS):
        if package in packages:
            return depth
    raise AssertionError(f"{package} has no place in LAYERS; add it where it belongs")


def imports(path: Path):
    """Yield (enclosing function or None, top-level package of ours) for each import."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts

    def visit(node, function):
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef) else function
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.ImportFrom):
                base = parts[: len(parts) - child.level] if child.level else ()
                module = [*base, *(child.module or "").split(".")] if child.module else [*base]
                names = [[*module, alias.name] for alias in child.names]
                for name in names:
                    if name[0] == "caveat" and len(name) > 1:
                        yield inside, name[1]
            elif isinstance(child, ast.Import):
                for alias in child.names:
                    name = alias.name.split(".")
                    if name[0] == "caveat" and len(name) > 1:
                        yield inside, name[1]
            yield from visit(child, inside)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), None)


def test_no_import_goes_back_up():
    back, forwards = [], set()
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT)
        package = relative.parts[0].removesuffix(".py")
        for function, target in imports(path):
            step = (relative.as_posix(), function, target)
            if step in FORWARDS:
                forwards.add(step)
            elif layer(target) > layer(package):
                back.append(step)
    assert back == []
    assert forwards == FORWARDS, "a forward that is listed is not there any more"


def test_the_test_sees_imports():
    found = set(imports(ROOT / "uncertainty" / "decompositions" / "information.py"))
    assert (None, "predictions") in found
    assert (None, "_blocks") in found


MOST_PRIVATE = 21
"""How many names may be imported across packages from private modules; only ever lowered."""


def private_imports() -> list[str]:
    """Names that a package imports from a private module, or a private name, of another one."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT)
        parts = ("caveat", *relative.with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            base = parts[: len(parts) - node.level] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            # Helpers beside the packages, such as caveat._validation, belong to all of them.
            if module[:1] != ("caveat",) or len(module) < 2 or module[1].startswith("_"):
                continue
            for alias in node.names:
                private = any(part.startswith("_") for part in (*module[1:], alias.name))
                if private and module[1] != parts[1]:
                    found.append(f"{relative.as_posix()}: {'.'.join(module[1:])}.{alias.name}")
    return found


def test_packages_use_what_others_offer():
    found = private_imports()
    assert len(found) <= MOST_PRIVATE, "\n".join(found)
