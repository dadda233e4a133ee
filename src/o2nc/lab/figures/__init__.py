"""A training run as a picture: the CSV file of `o2nc.torch.log`, read and drawn."""
