r"""Colour: $c(w) = (1 - w) \cdot low + w \cdot high$ in OKLab, where equal steps look equal.

One straight line through a space that was fitted to the eye (Ottosson, "A perceptual color space for image
processing", 2020), so twice the weight looks like twice the step, in print and for eyes that see fewer colours.
"""

from __future__ import annotations

from typing import Final

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

PAPER, INK = "#ffffff", "#0b2e66"  # nothing was read; everything was

TO_CONES: Final[Matrix] = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
TO_LAB: Final[Matrix] = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
FROM_LAB: Final[Matrix] = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.2914855480),
)
FROM_CONES: Final[Matrix] = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)


def ramp(steps: int, low: str = PAPER, high: str = INK) -> list[str]:
    """So many colours as `#rrggbb`, evenly spaced to the eye, both ends included."""
    first, last = oklab(low), oklab(high)
    shares = [at / max(steps - 1, 1) for at in range(steps)]
    return [_hex(_mixed(first, last, share)) for share in shares]


def oklab(colour: str) -> Triple:
    """Lightness from 0 to 1, then green to red, then blue to yellow."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    long, middle, short = _times(TO_CONES, (red, green, blue))
    return _times(TO_LAB, (long ** (1 / 3), middle ** (1 / 3), short ** (1 / 3)))


def _hex(lab: Triple) -> str:
    long, middle, short = _times(FROM_LAB, lab)
    bytes_ = (round(255 * _gamma(each)) for each in _times(FROM_CONES, (long**3, middle**3, short**3)))
    return "#" + "".join(f"{each:02x}" for each in bytes_)


def _mixed(low: Triple, high: Triple, share: float) -> Triple:
    first, second, third = (a + (b - a) * share for a, b in zip(low, high, strict=True))
    return first, second, third


def _times(matrix: Matrix, vector: Triple) -> Triple:
    first, second, third = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)
    return first, second, third


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _gamma(part: float) -> float:
    part = min(max(part, 0.0), 1.0)
    return part * 12.92 if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
