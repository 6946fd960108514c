"""Memory → next symbol, one step at a time; all steps at once in training."""

from regard.decode.bahdanau import BahdanauDecoder as BahdanauDecoder
from regard.decode.core import Decoded as Decoded
from regard.decode.core import Decoder as Decoder
from regard.decode.core import State as State
from regard.decode.core import Stepped as Stepped
from regard.decode.luong import LuongDecoder as LuongDecoder
from regard.decode.plain import PlainDecoder as PlainDecoder
from regard.decode.transformer import TransformerDecoder as TransformerDecoder
