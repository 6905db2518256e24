/* sottovoce: answers are randomized before they are sent. Apache-2.0. Built from clients/web. */
import"./sottovoce-OVJPFDEX.js";import"./sottovoce-LA3DUQMW.js";
