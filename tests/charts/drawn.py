"""What matplotlib has drawn."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure


def small():
    """Return axes that are quick to draw and belong to no window."""
    return Figure(figsize=(3, 3), dpi=50).subplots()


def picture(ax):
    """Return the pixels, drawn in full."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def labels(ax):
    """Return the entries of the legend."""
    return ax.get_legend_handles_labels()[1]


def curves(ax):
    """Return the main marks."""
    return [artist for artist in ax.get_children() if artist.get_gid() == "caveat-curve"]


def ticks(ax):
    """Return the labels of the rows, each in one line."""
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]


def corners(ax):
    """Return all points of the only shaded band."""
    (band,) = [c for c in ax.collections if "PolyCollection" in type(c).__name__]
    return band.get_paths()[0].vertices


def bars(ax):
    """Return the lengths of bars from top to bottom."""
    found = {bar.get_y() + bar.get_height() / 2: bar.get_width() for bar in ax.patches}
    return [found[place] for place in sorted(found)]


def whiskers(ax):
    """Return the ends of all lines across, from top to bottom."""
    found = [
        (segment[0, 1], *segment[:, 0])
        for lines in ax.collections
        if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    ]
    return [tuple(ends) for _, *ends in sorted(found)]
