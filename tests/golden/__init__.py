"""What vidsum wrote and computed before a redesign, stored: whatever moves inside, this stays the same."""
