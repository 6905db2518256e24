/* sottovoce: answers are randomized before they are sent. Apache-2.0. Built from clients/web. */
import"./sottovoce-CZ6KUYFQ.js";import"./sottovoce-3XB5CMMW.js";
