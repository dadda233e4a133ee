"""What the experiments minimise: one file an objective, each in the registry under its name.

>>> [name for name in of_kind("nonsmooth")]
['bowl', 'capped', 'ramp', 'relu', 'valley']
"""

import importlib
import pkgutil

from .registry import objective, of_kind, registry

__all__ = ["objective", "of_kind", "registry"]

for _module in pkgutil.iter_modules(__path__):  # each adds what it defines to the registry
    importlib.import_module(f"{__name__}.{_module.name}")
