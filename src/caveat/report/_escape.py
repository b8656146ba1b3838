"""Data for the scripts of a page: nothing in it can be taken for markup."""

import json
import math
from typing import Any

import numpy as np


def for_script(value: Any) -> str:
    r"""Return JSON that can stand in a script element: nothing in it can end the element.

    Examples
    --------
    >>> print(for_script({"name": "</script>", "value": float("nan")}))
    {"name":"\u003c/script\u003e","value":null}
    """
    text = json.dumps(plain(value), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: six digits that count, None for what is not finite."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
