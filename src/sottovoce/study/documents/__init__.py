"""Documents that people read, print and sign: the report of a study, and the parts that all documents are made of."""
