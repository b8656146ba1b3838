"""Who does a model know less about, and whose data is noisier: audits of groups and individuals.

``audit(prediction, y, groups)`` compares groups by point-based measures and by uncertainty, each
with an interval; ``.reading()`` says in plain words what that shows. ``consistency(values, X)``
asks whether samples that are alike are treated alike.
"""

from ..results.rows import FairnessRow
from ._audit import audit
from ._consistency import consistency
from ._consistency_result import Consistency, ConsistencyRow
from ._reading import Paragraph, Reading
from ._result import FairnessAudit

__all__ = [
    "Consistency",
    "ConsistencyRow",
    "FairnessAudit",
    "FairnessRow",
    "Paragraph",
    "Reading",
    "audit",
    "consistency",
]
