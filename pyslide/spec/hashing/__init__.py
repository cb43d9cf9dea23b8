"""A vector becomes K*L codes (section 3.2, Appendix A)."""

from pyslide.spec.hashing.densification import borrowed, densify, probe_table
from pyslide.spec.hashing.densified_winner_take_all import (
    densified_winner_take_all_codes,
    entry_values,
    occupied_codes,
)
from pyslide.spec.hashing.family import Codes, code_range, hash_codes, hashed_entries
from pyslide.spec.hashing.minhash import first_members, largest_coordinates, minhash_codes
from pyslide.spec.hashing.simhash import projection_sums, sign_bits, simhash_codes
from pyslide.spec.hashing.winner_take_all import winner_take_all_codes

__all__ = [
    "Codes",
    "borrowed",
    "code_range",
    "densified_winner_take_all_codes",
    "densify",
    "entry_values",
    "first_members",
    "hash_codes",
    "hashed_entries",
    "largest_coordinates",
    "minhash_codes",
    "occupied_codes",
    "probe_table",
    "projection_sums",
    "sign_bits",
    "simhash_codes",
    "winner_take_all_codes",
]
