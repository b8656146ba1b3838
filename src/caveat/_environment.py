"""What the process was started with, read when caveat is imported.

Later changes are not meant for this process: Dask sets OMP_NUM_THREADS to 1 in the one that starts
workers, for these alone, and leaves it so.
"""

import os

THREADS = os.environ.get("OMP_NUM_THREADS", "")
"""The most threads that may compute at once; no number if there is no limit."""
