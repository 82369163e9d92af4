"""Evidence that a query is true: pictures, speech, text on the screen and sounds."""
