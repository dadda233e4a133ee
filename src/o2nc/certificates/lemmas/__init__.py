"""The lemmas behind the theorems, each as a function that returns its right side."""
