"""Audits of groups and individuals: by predictions, and by aleatoric and epistemic uncertainty.

``audit(prediction, y, groups)`` compares groups by point-based measures and by uncertainty, each
with an interval; ``.verdict()`` says in plain words what that shows. ``consistency(values, X)``
measures whether samples with similar features are treated similarly, and
``lipschitz(values, X)`` how fast treatment changes with the features.
"""

from typing import TYPE_CHECKING

from .._docstrings import describe_package, entries_of
from .._renamed import old_names
from ..results.rows import FairnessRow
from ._audit import audit
from ._consistency import consistency
from ._consistency_result import Consistency, ConsistencyRow
from ._lipschitz import Lipschitz, LipschitzRow, lipschitz
from ._result import FairnessAudit
from ._verdict import AuditVerdict, Paragraph

__all__ = [
    "AuditVerdict",
    "Consistency",
    "ConsistencyRow",
    "FairnessAudit",
    "FairnessRow",
    "Lipschitz",
    "LipschitzRow",
    "Paragraph",
    "audit",
    "consistency",
    "lipschitz",
]

PARAMETERS = entries_of("""\
X : array of shape (samples, features) or frame
    The features. Leave out what should not matter, such as the groups.
cluster : array of shape (samples,)
    Samples that belong together and are resampled together.
""")
describe_package(__name__, PARAMETERS)

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
