"""Sentences of made-up talks that stand by themselves, and a question."""

OLD = "Printing is an art that is old in the East."
LATE = "Letters of metal came late to the towns here."
CAST = "Printers cast letters from lead in small rooms."
QUESTION = "When did letters of metal come to Europe?"
