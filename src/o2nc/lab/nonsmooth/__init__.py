"""The experiment on nonsmooth objectives: Algorithm 2, its rivals and baselines, at the same number of samples."""
