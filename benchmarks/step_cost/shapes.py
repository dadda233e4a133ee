"""The shapes of the tensors whose steps are timed."""

Shape = tuple[int, ...]
WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
WIDEST = 512  # of the matrices for which directions of matrices are computed


def squares(width: int, count: int = 20) -> list[Shape]:
    """Square matrices."""
    return [(width, width)] * count


def gpt(width: int = 384, layers: int = 12, vocabulary: int = 8192, context: int = 1024) -> list[Shape]:
    """25 million parameters in the shapes of GPT-2."""
    shapes: list[Shape] = [(vocabulary, width), (context, width)]
    for _ in range(layers):
        shapes += [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
        shapes += [(3 * width,), (width,), (4 * width,)] + [(width,)] * 5
    return shapes


def tiny(pairs: int = 1000) -> list[Shape]:
    """Many small layers."""
    return [(8, 8), (16,)] * pairs


def resnet(width: int = 16, blocks: int = 3, stages: int = 3, classes: int = 10) -> list[Shape]:
    """A small ResNet for CIFAR-10: convolutions of 3 x 3, each with the two vectors of its norm, and a head."""
    shapes: list[Shape] = [(width, 3, 3, 3), (width,), (width,)]
    before = width
    for out in (width * 2**k for k in range(stages)):
        for _ in range(blocks):
            shapes += [(out, before, 3, 3), (out,), (out,), (out, out, 3, 3), (out,), (out,)]
            if before != out:
                shapes += [(out, before, 1, 1), (out,), (out,)]
            before = out
    return [*shapes, (classes, before), (classes,)]


def models(is_quick: bool = False) -> dict[str, list[Shape]]:
    """The models by title; quick ones have the same kinds of tensors, and next to no entries."""
    if is_quick:
        small = gpt(width=8, layers=1, vocabulary=128, context=16)
        return {"GPT": small, "tiny": tiny(10), "table": [(256, 8)], "convolutions": resnet(4, blocks=1, stages=2)}
    return {"GPT": gpt(), "tiny": tiny(), "table": [(32_000, 256)], "convolutions": resnet()}
