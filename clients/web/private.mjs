/**
 * Members that only this client uses: the shipped files and the tests call them by short names. Names of fields of
 * specifications, of what is stored and sent, and of what other pages call are not listed. The first ones get the shortest.
 */
const NAMES = `
  words rounding mechanisms bottom accepts stages ratioForever far encode own payloadBits cohort ratio inputs top
  codesAreIndices sideBySide sparse tries sample parts publics options times check rewind reasonsFit weighed compare
  begin rememberCode keptCode change remove seen payloadFrom within power member coordinates extra half take guardedRatio
  minus numbers pass closed supports place ratioByEntry cohorts magnitudes given mappedIn cumulative refusal
  position vary drawn reachesEveryOutput idle law seek below ownWords seeds flips plus chosenArm further allowed
  dropped flip encoded claimed checkOnce others digitsOf current raw numbered point sealing word draw attempt mask
  choice until span sealedFor rest likelihood seed said spaces near step reached laws memo extremes written sender
  store contains evenRatio cells payloadBytes digest claimedForever later over pick known epochDays shown maps
  exactLimit columns optedOutBefore ratioBefore publicWords mapped typed follow deliver timer fine either filler
  reportsBefore armOf decided acceptsAny extras scale entry equals wait sums tails branch rises roundings leaves draft
  wide allowedEver starts joined kept source when spare acceptedBy spans coded needed drawnArm askAll fresh field
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

/** For terser. */
export const MINIFY = {
  ecma: 2020,
  module: true,
  compress: { ecma: 2020, module: true, passes: 3, keep_fargs: false, unsafe_arrows: true, unsafe_methods: true, pure_getters: true, inline: 1, lhs_constants: false },
  mangle: { module: true },
};
