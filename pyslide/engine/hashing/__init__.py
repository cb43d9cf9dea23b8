"""Vectors become K*L codes, a batch at a time."""

from pyslide.engine.hashing.densification import borrow, densify
from pyslide.engine.hashing.densified_winner_take_all import densified_winner_take_all_codes, occupied_codes
from pyslide.engine.hashing.family import Codes, code_range, hash_codes
from pyslide.engine.hashing.minhash import first_members, largest_coordinates, minhash_codes
from pyslide.engine.hashing.simhash import projection_sums, sign_bits, simhash_codes
from pyslide.engine.hashing.winner_take_all import first_maxima, winner_take_all_codes

__all__ = [
    "Codes",
    "borrow",
    "code_range",
    "densified_winner_take_all_codes",
    "densify",
    "first_maxima",
    "first_members",
    "hash_codes",
    "largest_coordinates",
    "minhash_codes",
    "occupied_codes",
    "projection_sums",
    "sign_bits",
    "simhash_codes",
    "winner_take_all_codes",
]
