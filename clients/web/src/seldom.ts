/** What is not in the main bundle: loaded when a specification names one of these. */
export const VECTORS = ["half-space", "hints", "place", "sampled-coordinates", "signs", "box", "sparse"];
