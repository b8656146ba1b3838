"""Does the uncertainty know where the errors are, and which samples come from elsewhere?"""

from . import confidence, confidence_scores, detection, selective

MODULES = (confidence, confidence_scores, selective, detection)
"""In the order of the table."""
