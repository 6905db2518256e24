/** Nodes that few studies use: memos, fakes and histograms. A file of their own, loaded when a specification needs it. */
export * from "../index"; // so that all of it is one file, which both need
import "./fakes";
import "./memo";
