/* The print button of a document. */
document.getElementById("print").addEventListener("click", () => print());
