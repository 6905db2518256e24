/**
 * Members that only this client uses: the shipped files and the tests call them by short names. Names of fields of
 * specifications, of what is stored and sent, and of what other pages call are not listed. The first ones get the shortest.
 */
const NAMES = `
  words rounding mechanisms bottom accepts stages ratioForever scale encode own tries cohort ratio inputs top
  codesAreIndices payloadBits sparse rememberCode sample parts publics compare times check rewind sideBySide
  payloadFrom options begin reasonsFit change remove seen weighed within armOf member coordinates extra power take
  guardedRatio places minus numbers choice closed supports place ratioByEntry cohorts magnitudes given mappedIn
  cumulative refusal position below drawn pass flip seeds seek written others dropped flips columns chosenArm further
  allowed reachesEveryOutput numbered encoded claimed checkOnce ownWords digitsOf law raw idle point sealing word draw
  attempt mask current until sender filler rest likelihood seed said spaces near step reached laws memo extremes vary
  span store payloadBytes ratioBefore either digest sealedFor deliver later over pick checkedRatio epochDays shown
  maps known when optedOutBefore cells publicWords contains typed mapped claimedForever timer fine half evenRatio
  reportsBefore exactLimit decided acceptsAny joined spare entry equals wait sums tails branch rises roundings leaves
  draft wide allowedEver starts extras kept source follow far plus spans
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
