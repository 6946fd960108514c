"""How well does a query match a key? One file a score."""

from regard.attention.score.additive import Additive as Additive
from regard.attention.score.concat import Concat as Concat
from regard.attention.score.core import Product as Product
from regard.attention.score.core import Score as Score
from regard.attention.score.dot import Dot as Dot
from regard.attention.score.general import General as General
from regard.attention.score.location import Location as Location
from regard.attention.score.location_aware import LocationAware as LocationAware
from regard.attention.score.scaled_dot import ScaledDot as ScaledDot
