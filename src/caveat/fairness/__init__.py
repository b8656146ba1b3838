"""Who does a model know less about, and whose data is noisier: audits of groups and individuals.

``audit(prediction, y, groups)`` compares groups by point-based measures and by uncertainty, each
with an interval; ``.verdict()`` says in plain words what that shows. ``consistency(values, X)``
asks whether samples that are alike are treated alike.
"""

from ..results.rows import FairnessRow
from ._audit import audit
from ._consistency import consistency
from ._consistency_result import Consistency, ConsistencyRow
from ._result import FairnessAudit
from ._verdict import AuditVerdict, Paragraph

__all__ = [
    "AuditVerdict",
    "Consistency",
    "ConsistencyRow",
    "FairnessAudit",
    "FairnessRow",
    "Paragraph",
    "audit",
    "consistency",
]
