/** What questions about records, sets of items and words need: a file of its own, loaded when a specification needs it. */
export * from "../index"; // so that all of it is one file, which both need
import "./item_sets";
import "./parities";
import "./records";
import "./words";
