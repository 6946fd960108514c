"""What is read becomes a Memory. It does not know who will read it."""

from regard.encode.core import Encoder as Encoder
from regard.encode.recurrent import RecurrentEncoder as RecurrentEncoder
from regard.encode.transformer import TransformerEncoder as TransformerEncoder
