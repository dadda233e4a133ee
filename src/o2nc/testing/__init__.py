"""Checks for your own operators, oracles and conversions; each says in one sentence what is wrong."""

from .conversions import check_conversion
from .operators import check_operator
from .oracles import check_oracle

__all__ = ["check_conversion", "check_operator", "check_oracle"]
