"""Play the oracles of the library on your own convex losses: points, regret and bounds, and no operators."""

from .domains import Ball, Box, Simplex, Spectral
from .game import Game, Outcome, play

__all__ = ["Ball", "Box", "Game", "Outcome", "Simplex", "Spectral", "play"]
