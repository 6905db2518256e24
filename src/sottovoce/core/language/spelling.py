"""Names of mechanisms as people write them, and names that the papers know and this package does not have yet."""

from __future__ import annotations

from collections.abc import Iterable

# Names in the form of `letters`, and what they stand for. A registered mechanism or alias of the same name comes first.
# What the papers call a mechanism and is something else here: what, and where it is.
ELSEWHERE = {
    "hio": "HIO is a protocol: sottovoce.protocols.boxes.hio.HIO",
    "hdg": "HDG is a protocol: sottovoce.protocols.boxes.hdg.HDG",
    "ahead": "AHEAD is a protocol: sottovoce.protocols.boxes.ahead.AHEAD",
    "calm": "CALM is a protocol: sottovoce.protocols.shares.published.calm",
    "pem": "PEM is a protocol: sottovoce.protocols.words.pem.PEM",
    "ldpminer": "LDPMiner is a protocol: sottovoce.protocols.sets.ldp_miner.LdpMiner",
    "svim": "SVIM is a protocol: sottovoce.protocols.sets.svim.FrequentItems",
    "svsm": "SVSM is a protocol: sottovoce.protocols.sets.svim.FrequentItemsets",
    "lopub": 'LoPub is a decoder of joined reports: decoder="lopub"',
}
NOT_YET = {
    "privkvm": "PrivKVM",
    "pckvue": "PCKV-UE",
    "treehist": "TreeHist",
    "privtrie": "PrivTrie",
    "planarlaplace": "planar Laplace noise (geo-indistinguishability)",
    "geoindistinguishability": "planar Laplace noise (geo-indistinguishability)",
    "cactus": "the cactus mechanism",
    "privgmm": "PrivGMM",
}
MOST_SUGGESTED = 3


def letters(name: str) -> str:
    """A name without case, hyphens, underscores and spaces."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is closest to a written one, or an empty text."""
    import difflib  # only where a word is wrong

    close = difflib.get_close_matches(word[:100], list(known), 1, 0.6)
    return close[0] if close else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """What an error adds of a name that is not registered: known names only, never the name itself, which was typed."""
    import difflib  # only where a name is wrong

    plain = letters(name)
    if plain in ELSEWHERE:
        return f"; {ELSEWHERE[plain]}."
    if plain in NOT_YET:
        return f"; {NOT_YET[plain]} is known from the papers, and is not here yet."
    forms: dict[str, str] = {}
    for one in known:
        forms.setdefault(letters(one), one)
    close = [forms[form] for form in difflib.get_close_matches(plain[:100], list(forms), MOST_SUGGESTED)]
    return f"; did you mean {' or '.join(close)}?" if close else "."
