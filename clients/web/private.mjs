/**
 * Members that only this client uses: the shipped files and the tests call them by short names. Names of fields of
 * specifications, of what is stored and sent, and of what other pages call are not listed. The first ones get the shortest.
 */
const NAMES = `
  place words armOf bottom top options digest wait drawn ratio seen cohort likelihood power compare over written encode numbers sample inputs near wide
  contains rest kept draft parts times below seed payloadBits point position accepts given known cells codesAreIndices
  far minus places begin coordinates cumulative others refusal change half seeds tries when extremes follow publics
  rounding stages vary further later ratioForever sideBySide law raw flip magnitudes mechanisms member plus
  spaces starts cohorts extra shown supports typed attempt choice columns equals seek sparse idle ownWords
  pick tails decided encoded guardedRatio laws leaves payloadBytes rewind sums until dropped flips joined mapped
  reportsBefore sender spans timer weighed acceptsAny branch checkOnce claimed claimedForever digitsOf exactLimit
  mappedIn optedOutBefore pass publicWords ratioByEntry rememberCode spare checkedRatio chosenArm deliver
  evenRatio store allowed allowedEver sealedFor epochDays own memo word maps mask fine numbered draw entry said sealing take span scale step source remove check within extras payloadFrom ratioBefore reachesEveryOutput reasonsFit rises roundings either filler
  reached current closed
`;
const names = NAMES.trim().split(/\s+/);
// Letters that are no members themselves. Two begin with a capital, so that none is `at`, `id` or `of`.
const LETTERS = "abcefhijlmorstuvxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const [MANY, FIRST] = [LETTERS.length, LETTERS.indexOf("A")];
const short = (place) => (place < MANY ? "" : LETTERS[FIRST + Math.floor(place / MANY) - 1]) + LETTERS[place % MANY];

/** For esbuild: which members have short names, and which. */
export const SHORT = {
  mangleProps: new RegExp(`^(?:${names.join("|")})$`),
  mangleCache: Object.fromEntries(names.map((name, place) => [name, short(place)])),
};
