/** HPKE (RFC 9180), base mode, one message: X25519, HKDF-SHA-256, ChaCha20-Poly1305. */
import { join, toBytes, utf8 } from "../core/bytes";
import { refuse } from "../core/errors";
import { hmac } from "../core/sha256";
import { encrypt } from "./chacha";
import { multiple, publicKey } from "./x25519";

const NOTHING = new Uint8Array(0);
const two = (number: number): Uint8Array => toBytes(BigInt(number), 2).reverse();
// Numbers of RFC 9180: 0x20 is the key exchange, 1 the derivation, 3 the cipher.
const EXCHANGE = join(utf8("KEM"), two(0x20));
const SUITE = join(utf8("HPKE"), two(0x20), two(1), two(3));
const VERSION = utf8("HPKE-v1");

function extract(suite: Uint8Array, salt: Uint8Array, label: string, secret: Uint8Array): Uint8Array {
  return hmac(salt, join(VERSION, suite, utf8(label), secret));
}

/** At most 32 bytes, which is one block of HKDF. */
function expand(suite: Uint8Array, key: Uint8Array, label: string, info: Uint8Array, length: number): Uint8Array {
  return hmac(key, join(two(length), VERSION, suite, utf8(label), info, Uint8Array.of(1))).slice(0, length);
}

/** What only the owner of the key opens: the one-time public key, then the encrypted text. */
export function seal(
  key: Uint8Array,
  info: Uint8Array,
  plain: Uint8Array,
  secret: Uint8Array,
  known: Uint8Array = NOTHING,
): Uint8Array {
  const own = publicKey(secret);
  const agreed = multiple(secret, key);
  // A point of small order: everyone could open what is sealed for it.
  if (!agreed.some(Boolean)) refuse("The collector's key of this study seals nothing, so this device does not answer.", "privacy");
  const shared = expand(EXCHANGE, extract(EXCHANGE, NOTHING, "eae_prk", agreed), "shared_secret", join(own, key), 32);
  const context = join(
    Uint8Array.of(0),
    extract(SUITE, NOTHING, "psk_id_hash", NOTHING),
    extract(SUITE, NOTHING, "info_hash", info),
  );
  const derived = extract(SUITE, shared, "secret", NOTHING);
  const nonce = expand(SUITE, derived, "base_nonce", context, 12);
  return join(own, encrypt(expand(SUITE, derived, "key", context, 32), nonce, plain, known));
}
