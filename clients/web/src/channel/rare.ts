/** What few studies use: memos, fakes, histograms and projective sets. A file of their own, loaded when a specification needs it. */
export * from "../index"; // so that all of it is one file, which both need
import "./fakes";
import "./memo";
import "./projective";
