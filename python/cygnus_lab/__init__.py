"""Sweeps of Cygnus scenarios as pandas frames: on this machine, or on a Ray cluster."""

from ._command import CygnusError
from ._sweep import sweep

__all__ = ["CygnusError", "sweep"]
