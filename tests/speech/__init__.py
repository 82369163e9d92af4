"""Tests of vidsum.speech."""
