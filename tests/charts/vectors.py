"""What an SVG has drawn, read from its elements alone."""

import re
from xml.etree import ElementTree

import numpy as np

CHARACTER = 6.4
"""The estimated width of a character of text."""

_COMMANDS = re.compile(r"([a-zA-Z])([^a-zA-Z]*)")


def parsed(svg):
    """Return the elements in their order, with the namespace left out."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.partition("}")[2] or element.tag
    return root


def vertices(d):
    """Return the places that a path names by absolute coordinates, in its order."""
    found, x, y = [], 0.0, 0.0
    for command, rest in _COMMANDS.findall(d):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", rest)]
        if command in "ML":
            x, y = numbers
        elif command == "H":
            (x,) = numbers
        elif command == "V":
            (y,) = numbers
        else:
            continue
        found.append((x, y))
    return found


def paths(root, *classes):
    """Return the d of each path outside the legend that has all of these classes."""
    legend = {id(path) for group in root.iter("g") if group.get("transform") for path in group}
    return [
        path.get("d")
        for path in root.iter("path")
        if id(path) not in legend and {*classes} <= {*path.get("class", "").split()}
    ]


def places(root):
    """Return all vertices of all marks."""
    frame = [*paths(root, "grid"), *paths(root, "axis")]
    return np.array([place for d in paths(root) if d not in frame for place in vertices(d)])


def frame(root):
    """Return left, right, bottom and top of the axes."""
    (axis,) = paths(root, "axis")
    (left, top), (_, bottom), (right, _) = vertices(axis)
    return left, right, bottom, top


def legend(root):
    """Return the entries of the legend: x, y and text."""
    found = []
    for group in root.iter("g"):
        if group.get("transform"):
            x, y = (float(n) for n in re.findall(r"-?[\d.]+", group.get("transform")))
            found.append((x, y, group.find("text").text or ""))
    return found


def boxes(root):
    """Return left, right, bottom and text of each text of the drawing, by the estimated width."""
    found = []
    inside = {id(t) for g in root.iter("g") if g.get("transform") for t in g.iter("text")}
    texts = [(float(t.get("x")), float(t.get("y")), t) for t in root.iter("text")]
    texts = [(x, y, t.get("text-anchor"), t.text or "") for x, y, t in texts if id(t) not in inside]
    texts += [(x + 25, y + 4, None, text) for x, y, text in legend(root)]
    for x, y, anchor, text in texts:
        wide = CHARACTER * len(text)
        left = x - {"end": wide, "middle": wide / 2}.get(anchor, 0.0)
        found.append((left, left + wide, y, text))
    return found


def ticks(root):
    """Return the place and the text of each tick of x."""
    bottom = frame(root)[2]
    return [
        (float(text.get("x")), text.text)
        for text in root.iter("text")
        if text.get("text-anchor") == "middle" and abs(float(text.get("y")) - bottom - 17.5) < 0.06
    ]


def along(values, ends, room, log=False):
    """Where numbers belong between the ends of an axis."""
    values, ends = (np.log(part) if log else np.asarray(part, float) for part in (values, ends))
    share = (values - ends[0]) / (ends[1] - ends[0])
    return room[0] + share * (room[1] - room[0])
