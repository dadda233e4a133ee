"""The command line, one file for each command: parsing and printing only."""

from . import certify, compare, deterministic, names, nonsmooth, play, plot, reproduce, run
from .console import app

__all__ = ["app", "certify", "compare", "deterministic", "names", "nonsmooth", "play", "plot", "reproduce", "run"]
