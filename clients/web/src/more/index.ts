/** Nodes, sets, maps and views that most studies do not need: loaded when a specification names one (`seldom.ts`). */
import "./compose";
import "./maps";
import "./memo";
import "./numeric";
import "./sets";
import "./views";
