"""What is `o2nc.lab.playground` since version 0.2.1: a sentence for one version."""

raise ModuleNotFoundError("`o2nc.play` is now `o2nc.lab.playground`.", name="o2nc.play")
