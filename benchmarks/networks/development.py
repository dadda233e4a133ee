"""The tasks on which the rule of the optimizer is chosen: docs/training-protocol.md."""

from .images import autoencoder, photograph, places, vision_transformer
from .sequences import adding, lstm, modular
from .tabular import heavy_tails, recommender, tumours

DEVELOPMENT = {
    "places": places,
    "vision transformer": vision_transformer,
    "autoencoder": autoencoder,
    "photograph": photograph,
    "lstm": lstm,
    "adding": adding,
    "modular": modular,
    "tumours": tumours,
    "heavy tails": heavy_tails,
    "recommender": recommender,
}
