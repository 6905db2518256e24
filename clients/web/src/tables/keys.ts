/** What questions about keys with numbers need: a file of their own, loaded when a specification needs it. */
export * from "../index"; // so that all of it is one file, which both need
import "./key_values";
