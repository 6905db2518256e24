/** Records, and views of their fields. */
import type { Code } from "../channel/channel";
import { define, listOf, record, text, valid } from "../core/read";
import { Domain, DOMAINS, domainFrom, outside } from "../domain/domain";
import { finite, View } from "../domain/views";

class Record extends Domain {
  constructor(override readonly fields: { name: string; domain: Domain }[]) {
    super();
    valid(fields.length && distinct(fields.map(({ name }) => name)), "fields");
    this.coordinates = this.sideBySide = fields.map(({ domain }) => domain);
  }
  /** The codes of the needed fields, by default of all; a record may hold others too, but no unknown ones. */
  encode(value: unknown, needed = this.fields.map(({ name }) => name)): Code[] {
    // An unknown field has the domain of the whole record, which no value of a field belongs to.
    const parts = Object.entries(value instanceof Object ? value : {});
    const codes = new Map(parts.map(([name, held]) => [name, this.field(name).encode(held)]));
    return needed.map((name) => codes.get(name) ?? outside(`a record of ${needed.join(", ")}`));
  }
}

function distinct(names: string[]): boolean {
  return new Set(names).size === names.length;
}

/** Some fields of a record, side by side; the others may be left out. */
class Fields extends View {
  readonly chosen: Domain[];
  constructor(
    seen: Domain,
    override readonly names: string[],
  ) {
    valid(seen instanceof Record, "of");
    super(seen);
    this.coordinates = this.sideBySide = this.chosen = names.map((name) => seen.field(name));
    valid(names.length && distinct(names) && !this.chosen.includes(seen), "names");
  }
  encode(value: unknown): Code {
    return (this.seen as Record).encode(value, this.names);
  }
}

/** Some fields of a record, as one code: the cell of their contingency table, last field fastest. */
class Select extends Fields {
  constructor(seen: Domain, names: string[]) {
    super(seen, names);
    const [first, ...more] = this.chosen;
    valid(!more.length || this.chosen.every((one) => one.size !== null), "names");
    this.size = more.length ? this.chosen.reduce((found, one) => found * one.size!, 1n) : first!.size;
    this.numbers = more.length ? null : first!.numbers;
    this.coordinates = this.sideBySide = null;
  }
  override encode(value: unknown): Code {
    const codes: Code[] = super.encode(value);
    return codes.reduce((cell, code, place) => cell * finite(this.chosen[place]!) + code);
  }
}

const view = { of: domainFrom, names: listOf(text) };
define(DOMAINS, "fields", Fields, view);
define(DOMAINS, "record", Record, {
  fields: listOf((one) => record(one, "a record's field", { name: text, domain: domainFrom })),
});
define(DOMAINS, "select", Select, view);
