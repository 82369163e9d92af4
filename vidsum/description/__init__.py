"""Words for passages of a video: writers of sentences, everyday words, titles, vision-language models."""
