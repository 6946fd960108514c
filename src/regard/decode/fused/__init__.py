"""Fused: the recurrent decoders over all steps of a given output, on a GPU, with a derivative by hand.

A step is a few launches, whatever its length and width; what no step waits for is done before or after all of them, and
every weight's gradient is one product over all steps. It gives what the steps give one by one.
"""

from regard.decode.fused.choice import applies

__all__ = ["applies"]
