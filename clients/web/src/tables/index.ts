/** What cross tables and other questions about records need: a file of its own, loaded when a specification needs it. */
export * from "../index"; // so that all of it is one file, which both need
import "./parities";
import "./records";
