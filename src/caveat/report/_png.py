"""Pictures of few colors as PNG files in an address, a byte for each pixel."""

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray


def png_address(colors: NDArray[np.uint8]) -> str:
    """Return a picture of shape (rows, columns, 3) as an address that holds it.

    With up to 256 colors a pixel takes one byte before compression, otherwise three.
    """
    height, width = colors.shape[:2]
    packed = colors.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
    palette, codes = np.unique(packed.ravel(), return_inverse=True)
    if len(palette) <= 256:
        kind, lines = 3, codes.astype(np.uint8).reshape(height, width)
        table = np.stack([palette >> 16, palette >> 8 & 255, palette & 255], axis=1)
        parts = [(b"PLTE", table.astype(np.uint8).tobytes())]
    else:
        kind, lines, parts = 2, colors.reshape(height, 3 * width), []
    # Each line begins with the number of its filter: 0, none.
    body = np.pad(lines, ((0, 0), (1, 0))).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = [(b"IHDR", head), *parts, (b"IDAT", zlib.compress(body, 9)), (b"IEND", b"")]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(file).decode()
