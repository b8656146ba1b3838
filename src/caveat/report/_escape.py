"""Text that came with the data is shown as it is, wherever it goes."""

import json
import math
from typing import Any

import numpy as np

# Invisible characters that turn text around or break it: a chart has no way to fence them in.
_UNSEEN = {
    ord(c): None for c in "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}
_UNSEEN |= dict.fromkeys([*range(32), *range(127, 160), 0x2028, 0x2029, 0xFEFF])


def for_chart(text: Any, longest: int = 28) -> str:
    """Return text for a label of a chart, where plotly would take ``<`` and ``&`` for markup.

    Examples
    --------
    >>> for_chart("<b>bold</b>")
    '&lt;b&gt;bold&lt;/b&gt;'
    """
    plain = str(text).translate(_UNSEEN)
    if len(plain) > longest:
        plain = plain[: longest - 1] + "…"
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
