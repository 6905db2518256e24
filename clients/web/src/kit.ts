/** What the nodes for vectors build on: they are a bundle of their own, loaded when a specification needs them. */
export { Channel, NODES, NO_WORDS, channelFrom, infinite, informative, unit } from "./channel/channel";
export { choose, Subset } from "./channel/finite";
export { Block, HadamardSets, SETS } from "./more/sets";
export { Choice } from "./channel/maps";
export { number, PLACES, Rounding } from "./channel/numeric";
export { bitCount, bitLength, ceilDiv, FINE, fromBytes, low, running, sum, UNIT, utf8 } from "./core/bytes";
export { Coins, flipsSpan } from "./core/coins";
export { decimal, decimalText } from "./core/decimal";
export { need, refuse } from "./core/errors";
export { Fraction, largest, ONE, smallest, total, units, ZERO } from "./core/fraction";
export { canonical, integer, integers, list, take } from "./core/json";
export { Domain, DOMAINS, exactNumber, Integers, Interval, outside } from "./domain/domain";
