"""Speech: transcripts by Whisper, their formats, and where they are kept."""
