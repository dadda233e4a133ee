"""Whether a figure can be read: no ink at a border, no text beyond the canvas, no text box on another."""

import io
import re
from contextlib import contextmanager
from itertools import combinations
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from matplotlib.textpath import TextPath

SLACK = 1.0  # pixels by which boxes, which are a little larger than their letters, may touch


def ink_at_a_border(image):
    """The borders of an image at which not everything has the colour of the corner."""
    borders = {"top": image[0], "bottom": image[-1], "left": image[:, 0], "right": image[:, -1]}
    return [name for name, pixels in borders.items() if not (np.abs(pixels - image[0, 0]) < 1e-6).all()]


def collisions(boxes, width, height):
    """What is wrong with some (words, left, bottom, right, top) on a canvas."""
    found = [
        f"beyond the canvas: {words!r}"
        for words, *box in boxes
        if box[0] < -SLACK or box[1] < -SLACK or box[2] > width + SLACK or box[3] > height + SLACK
    ]
    for (one, *a), (other, *b) in combinations(boxes, 2):
        if all(min(a[k + 2], b[k + 2]) - max(a[k], b[k]) > SLACK for k in (0, 1)):
            found.append(f"one on the other: {one!r}, {other!r}")
    return found


def faults(figure, target=None, save=Figure.savefig, **options):
    """What is wrong with a figure as it is written with these options of ``savefig``: sentences."""
    target, boxes, original = target or io.BytesIO(), {}, Text.draw

    def draw(text, renderer, *arguments, **more):
        original(text, renderer, *arguments, **more)
        if text.get_visible() and text.get_text().strip():
            boxes[id(text)] = (text.get_text(), *text.get_window_extent(renderer).extents)
            boxes["canvas"] = text.get_figure(root=True).bbox.max

    with patch.object(Text, "draw", draw):
        save(figure, target, **options)
    canvas = boxes.pop("canvas", (0, 0))
    found = collisions(list(boxes.values()), *canvas)
    kind = options.get("format") or str(target).rpartition(".")[2]
    if kind in ("png", "jpg"):
        if isinstance(target, io.BytesIO):
            target.seek(0)
        found += [f"ink at the {border}" for border in ink_at_a_border(imread(target, kind))]
    return found


@contextmanager
def watched():
    """All figures that are saved in the block, by name, with what is wrong with each."""
    found, save = {}, Figure.savefig

    def savefig(figure, target, **options):
        name = f"{len(found)}: {getattr(target, 'name', target)}"
        found[name] = faults(figure, target, save, **options)

    with patch.object(Figure, "savefig", savefig):
        yield found


def svg_faults(text):
    """What is wrong with the words of a picture in SVG, in letters as wide as those of DejaVu Sans."""
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", text))
    classes = dict(re.findall(r"\.(\w+)\{([^}]*)\}", text))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    return collisions(list(_words(root, {}, classes)), width, height)


def _words(element, inherited, classes):
    """The words of an element and their boxes, y upwards or downwards: it does not matter."""
    rules = classes.get(element.get("class"), "")
    style = inherited | {key: element.get(key) for key in ("text-anchor", "font-size") if element.get(key)}
    for key, pattern in (("text-anchor", r"text-anchor:(\w+)"), ("font-size", r"(\d+)px")):
        style |= {key: found[1]} if (found := re.search(pattern, rules)) else {}
    if element.tag == "text":
        size, x, y = float(style["font-size"]), float(element.get("x")), float(element.get("y"))
        wide = TextPath((0, 0), element.text, size=size).get_extents().width
        x -= wide * {"middle": 0.5, "end": 1.0}.get(style.get("text-anchor"), 0.0)
        yield element.text, x, y - 0.75 * size, x + wide, y + 0.2 * size
    for part in element:
        yield from _words(part, style, classes)
