"""``python -m caveat`` is the command line."""

from .cli import main

if __name__ == "__main__":  # pragma: no cover - the tests call main
    raise SystemExit(main())
