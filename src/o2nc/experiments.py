"""What is `o2nc.lab` since version 0.2.1: a sentence for one version."""

raise ModuleNotFoundError("`o2nc.experiments` is now `o2nc.lab`.", name="o2nc.experiments")
