"""Exact gradients: how many until one is small, ours beside online scaled gradient methods and L-BFGS."""
