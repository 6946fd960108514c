"""Models: an encoder, a decoder and an output, composed as a recipe names them."""

from regard.model.build import build as build
from regard.model.core import Loss as Loss
from regard.model.core import Model as Model
from regard.model.core import Objective as Objective
from regard.model.steps import Steps as Steps
