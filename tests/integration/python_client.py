"""The Python client for its tests: the package from its sources.

MXKV_PYTHON_CLIENT  "installed": the package that this interpreter has installed
"""

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "protocol" / "clients" / "python"
if os.environ.get("MXKV_PYTHON_CLIENT") != "installed" and str(PACKAGE) not in sys.path:
    sys.path.insert(0, str(PACKAGE))

import mxkv  # noqa: E402 - the path comes first

__all__ = ["mxkv"]
