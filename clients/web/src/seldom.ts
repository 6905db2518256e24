/** Nodes and domains for vectors: a specification has at most one of them. */
export const VECTORS = ["half-space", "hints", "place", "sampled-coordinates", "signs", "box", "sparse"];
/** What is not in the main bundle: loaded when a specification names one of these. */
export const SELDOM = [...VECTORS, "sparing", "cells", "digit", "vector-part"];
/** Memos, fakes, histograms and projective sets. */
export const RARE = ["chain", "cohorts", "fakes", "histogram", "projective"];
/** What only questions about records, sets of items and words need. */
export const TABLES = ["record", "parities", "sets", "ranking", "hitting", "spread", "options", "itemsets", "held-count", "drawn-item", "wheel", "words", "fragments"];
/** What only questions about keys with numbers need. */
export const KEYS = ["key-value", "key-ends", "asked-key", "sampled-key"];
