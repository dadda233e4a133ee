"""Any oracle, by name, on any smooth objective, beside SGD and other baselines."""
