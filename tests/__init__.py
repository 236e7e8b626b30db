"""Tests of trilabel; what they are run with is in conftest.py."""

import os

# Two workers share two cores, and the processes that tests start share them too. Before anything imports NumPy, SciPy
# or torch, which look once: their threads would mostly wait for one another.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
