"""What is said: transcripts by Whisper, their formats, and where they are kept."""
